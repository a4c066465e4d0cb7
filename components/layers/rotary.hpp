#pragma once

#include <torch/types.h>

#include <optional>

#include "registry/component.hpp"

namespace runner {

enum class RopeType { linear, dynamic, llama3, yarn };
constexpr auto describe(std::type_identity<RopeType>) {
  return choices(
      choice("linear", RopeType::linear, "positions are closer together by the factor"),
      choice("dynamic", RopeType::dynamic,
             "only texts longer than original_context are squeezed, by a larger rope_theta"),
      choice("llama3", RopeType::llama3, "long wavelengths are stretched by the factor, short ones kept"),
      choice("yarn", RopeType::yarn, "as llama3 by another rule, and attention is sharper"));
}

// How a model that was trained on shorter texts reads longer ones.
struct RopeScaling {
  RopeType type = RopeType::linear;
  double factor = 1;
  std::int64_t original_context = 0;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double beta_fast = 32;
  double beta_slow = 1;
  double attention_factor = 0;

  bool operator==(const RopeScaling&) const = default;
};
constexpr auto describe(std::type_identity<RopeScaling>) {
  return fields(
      field("type", &RopeScaling::type, "The method.", required()),
      field("factor", &RopeScaling::factor, "Factor by which the context is longer.", required(),
            at_least(1)),
      field("original_context", &RopeScaling::original_context,
            "Context of the pre-training, in tokens; needed by all but linear.", at_least(0)),
      field("low_freq_factor", &RopeScaling::low_freq_factor,
            "llama3: wavelengths above original_context divided by this are stretched fully.", above(0)),
      field("high_freq_factor", &RopeScaling::high_freq_factor,
            "llama3: wavelengths below original_context divided by this are kept.", above(0)),
      field("beta_fast", &RopeScaling::beta_fast,
            "yarn: wavelengths that fit into original_context this often are kept.", above(0)),
      field("beta_slow", &RopeScaling::beta_slow,
            "yarn: wavelengths that fit into original_context this often are stretched fully.", above(0)),
      field("attention_factor", &RopeScaling::attention_factor,
            "yarn: factor of queries and keys; 0: 0.1 log(factor) + 1.", at_least(0)));
}
void check(const RopeScaling& scaling, Report& report);

// The angles of consecutive positions, as cosines and sines: [positions, size / 2].
struct Rotation {
  torch::Tensor cosine, sine;
};

// Positions as rotations (Su et al. 2021, https://arxiv.org/abs/2104.09864): number i of a head's first half
// and number i of its second half are rotated together, paired as by HuggingFace.
class Rotary {
 public:
  Rotary(std::int64_t positions, std::int64_t head_size, double theta,
         const std::optional<RopeScaling>& scaling = {});

  Rotation at(std::int64_t first, std::int64_t count, torch::Device device);

 private:
  torch::Tensor frequencies(double theta) const;
  torch::Tensor yarn_frequencies(const torch::Tensor& frequency) const;
  double attention_factor() const;
  Rotation angles(std::int64_t positions, const torch::Tensor& frequency) const;

  std::int64_t head_size_;
  double theta_;
  std::optional<RopeScaling> scaling_;
  Rotation all_;
};

torch::Tensor rotated(const torch::Tensor& x, const Rotation& rotation);  // x: [.., positions, size]

}  // namespace runner
