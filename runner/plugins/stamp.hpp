#pragma once

#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "components/adapters/adapter.hpp"
#include "components/contract/example_random.hpp"
#include "components/contract/histogram.hpp"
#include "components/contract/interval.hpp"
#include "components/contract/measured.hpp"
#include "components/contract/progress.hpp"
#include "components/contract/requests.hpp"
#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "components/datasets/dataset.hpp"
#include "components/hooks/hook.hpp"
#include "components/layers/linear.hpp"
#include "components/losses/loss.hpp"
#include "components/metrics/metric.hpp"
#include "components/models/language_model.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
#include "components/schedulers/scheduler.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "components/trackers/tracker.hpp"
#include "components/transforms/image.hpp"
#include "components/transforms/transform.hpp"

// Information about a plugin in a section of its file, so that the program can check compatibility before it
// runs any of the plugin's code. runner_add_plugin() compiles it in; without CMake, compile and link
// lib/cmake/runner/plugin_stamp.cpp of the installation.
namespace runner {

struct PluginStamp {
  static constexpr std::string_view section = "runner_plugin";
  static constexpr std::string_view expected_magic = "runner plugin";

  struct Type {
    char name[24] = {};
    std::uint32_t size = 0;
  };

  // These three always come first; the rest is only read if they have the expected values.
  char magic[16] = {};
  std::uint32_t size = 0;
  std::uint32_t interface = 0;

  char runner[16] = {};    // version of the headers
  char libtorch[16] = {};  // likewise
  char compiler[48] = {};  // informational; g++ and clang are compatible
  char library[24] = {};   // which C++ library, and which of its ABIs
  char build[24] = {};     // what affects the layout of types: assertions, debug containers, sanitizers
  Type types[128] = {};    // sizes of the types that plugin and program share
};

namespace detail {

template <std::size_t capacity>
constexpr void put(char (&place)[capacity], std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), capacity - 1), place);
}

constexpr std::string_view compiler_name() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

constexpr std::string_view standard_library() {
#if defined(_LIBCPP_VERSION)
  return "libc++";
#elif _GLIBCXX_USE_CXX11_ABI
  return "libstdc++";
#else
  return "libstdc++, old ABI";
#endif
}

constexpr std::string_view build_type() {
#if defined(__SANITIZE_ADDRESS__)
  return "with address sanitizer";
#elif defined(__SANITIZE_THREAD__)
  return "with thread sanitizer";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return "with address sanitizer";
#elif __has_feature(thread_sanitizer)
  return "with thread sanitizer";
#endif
#endif
#if defined(_GLIBCXX_DEBUG)
  return "with _GLIBCXX_DEBUG";
#elif defined(NDEBUG)
  return "without assertions";
#else
  return "with assertions";
#endif
}

class StampTypes {
 public:
  constexpr explicit StampTypes(PluginStamp& stamp) : stamp_(stamp) {}

  constexpr StampTypes& add(std::string_view name, std::size_t size) {
    put(stamp_.types[next_].name, name);  // too many types do not compile: the index is past the array
    stamp_.types[next_++].size = static_cast<std::uint32_t>(size);
    return *this;
  }
  template <Kind K>
  constexpr StampTypes& add_kind() {
    // Entries: "model", "model inputs", "model common", "model facts".
    constexpr const KindInfo& kind = kind_info<K>;
    return add(kind.name, kind.product_size)
        .add_part(kind.name, " inputs", kind.inputs_size)
        .add_part(kind.name, " common", kind.common_size)
        .add_part(kind.name, " facts", kind.facts_size);
  }

 private:
  constexpr StampTypes& add_part(std::string_view kind, std::string_view part, std::size_t size) {
    char name[24] = {};
    put(name, kind);
    std::copy_n(part.begin(), std::min(part.size(), sizeof(name) - 1 - kind.size()), name + kind.size());
    return add(name, size);
  }

  PluginStamp& stamp_;
  std::size_t next_ = 0;
};

}  // namespace detail

// The stamp of the code that is being compiled.
constexpr PluginStamp own_stamp() {
  PluginStamp stamp;
  detail::put(stamp.magic, PluginStamp::expected_magic);
  stamp.size = sizeof(PluginStamp);
  stamp.interface = interface_version;
  detail::put(stamp.runner, RUNNER_VERSION);
  detail::put(stamp.libtorch, TORCH_VERSION);
  detail::put(stamp.compiler, detail::compiler_name());
  detail::put(stamp.library, detail::standard_library());
  detail::put(stamp.build, detail::build_type());
  detail::StampTypes(stamp)
      .add("Descriptor", sizeof(Descriptor))
      .add("KindInfo", sizeof(KindInfo))
      .add("Value", sizeof(Value))
      .add("FieldInfo", sizeof(FieldInfo))
      .add("Tensor", sizeof(torch::Tensor))
      .add("Batch", sizeof(Batch))
      .add("DataSpec", sizeof(DataSpec))
      .add("State", sizeof(State))
      .add("StateReader", sizeof(StateReader))
      .add("Progress", sizeof(Progress))
      .add("Cursor", sizeof(Cursor))
      .add("Interval", sizeof(Interval))
      .add("ExampleRandom", sizeof(ExampleRandom))
      .add("Requests", sizeof(Requests))
      .add("Note", sizeof(Note))
      .add("Histogram", sizeof(Histogram))
      .add("Trainability", sizeof(Trainability))
      .add("Measured", sizeof(Measured))
      .add("Watched", sizeof(Watched))
      .add("NamedTensor", sizeof(NamedTensor))
      .add("KeptWeights", sizeof(KeptWeights))
      .add("ParameterGroup", sizeof(ParameterGroup))
      .add("GroupRule", sizeof(GroupRule))
      .add("KvCache", sizeof(KvCache))
      .add("LanguageModel", sizeof(LanguageModel))
      .add("Adaptation", sizeof(Adaptation))
      .add("LinearImpl", sizeof(LinearImpl))
      .add("LinearOptions", sizeof(LinearOptions))
      .add("LayerAdapter", sizeof(LayerAdapter))
      .add("ExampleRef", sizeof(ExampleRef))
      .add("ColumnDetails", sizeof(ColumnDetails))
      .add("SplitDetails", sizeof(SplitDetails))
      .add("ExampleFault", sizeof(ExampleFault))
      .add("ShownTokens", sizeof(ShownTokens))
      .add("MarkedText", sizeof(MarkedText))
      .add("MarkedTokens", sizeof(MarkedTokens))
      .add("Splits", sizeof(Splits))
      .add("TransformStep", sizeof(TransformStep))
      .add("Image", sizeof(Image))
      .add("ImageView", sizeof(ImageView))
      .add("ImageTarget", sizeof(ImageTarget))
      .add("PixelTable", sizeof(PixelTable))
      .add("Rectangle", sizeof(Rectangle))
      .add("Scratch", sizeof(Scratch))
      .add("Record", sizeof(Record))
      .add("Picture", sizeof(Picture))
      .add("RunFacts", sizeof(RunFacts))
      .add("RunEnd", sizeof(RunEnd))
      .add("Destination", sizeof(Destination))
      .add_kind<ModelKind>()
      .add_kind<AdapterKind>()
      .add_kind<DatasetKind>()
      .add_kind<TransformKind>()
      .add_kind<LossKind>()
      .add_kind<MetricKind>()
      .add_kind<OptimizerKind>()
      .add_kind<SchedulerKind>()
      .add_kind<PrecisionKind>()
      .add_kind<TrackerKind>()
      .add_kind<HookKind>()
      .add_kind<TokenizerKind>();
  return stamp;
}

}  // namespace runner
