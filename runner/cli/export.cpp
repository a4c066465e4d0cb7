#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <ostream>

#include "components/models/support/load_weights.hpp"
#include "components/support/io/atomic_file.hpp"
#include "components/support/weights/safetensors.hpp"
#include "components/support/weights/sharded_safetensors.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/inference/load_run.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// As Python's torch.load reads it, with weights_only too: a plain dictionary, each tensor with a storage of
// its own.
void write_pt(const std::map<std::string, torch::Tensor>& tensors, const fs::path& path) {
  c10::impl::GenericDict dictionary(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [name, tensor] : tensors) dictionary.insert(name, tensor.contiguous().clone());

  std::vector<char> program;
  const auto append = [&](const char* data, std::size_t size) {
    program.insert(program.end(), data, data + size);
  };
  const auto number = [next = 0](const torch::Tensor&) mutable { return std::to_string(next++); };
  torch::jit::Pickler pickler(append, nullptr, nullptr, nullptr, number, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dictionary);
  pickler.stop();

  AtomicFile file(path);
  caffe2::serialize::PyTorchStreamWriter archive([&](const void* data, std::size_t size) {
    file.write({static_cast<const std::byte*>(data), size});
    return size;
  });
  archive.writeRecord("data.pkl", program.data(), program.size());
  std::size_t index = 0;
  for (const torch::Tensor& tensor : pickler.tensorData())
    archive.writeRecord("data/" + std::to_string(index++), tensor.data_ptr(), tensor.nbytes());
  archive.writeEndOfFile();
  file.commit();
}

std::map<std::string, torch::Tensor> weights_of(const fs::path& folder, const Arguments& arguments) {
  if (arguments.has("step")) {
    const fs::path checkpoint = CheckpointStore(folder).path_of(std::stoll(arguments.get("step")));
    if (const std::string damage = damage_of(checkpoint); !damage.empty())
      throw std::runtime_error("The checkpoint " + checkpoint.string() + " cannot be used: " + damage + ".");
    return read_sharded_safetensors(checkpoint, "model");
  }
  return read_safetensors(find_weights(folder, arguments.has("best") ? "best" : arguments.get("weights")));
}

int run(const Arguments& arguments, Session& session) {
  const fs::path folder = find_run(arguments.get("RUN"));
  const fs::path out = arguments.get("output");
  if (out.extension() != ".safetensors" && out.extension() != ".pt")
    return refuse(
        {"-o names the file to write: model.safetensors, or model.pt for Python's torch.load", {}, ""},
        session);
  const auto tensors = weights_of(folder, arguments);
  if (out.extension() == ".pt") {
    write_pt(tensors, out);
  } else {
    write_safetensors(out, {tensors.begin(), tensors.end()}, {{"format", "pt"}});
  }
  session.out << out.string() << ": " << tensors.size() << " tensors\n";
  return Exit::done;
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "Write the weights of a run into one file, for PyTorch and others.",
          .arguments = {{"RUN", "A run folder, or the name of a run (the last one of it).",
                         Argument::Count::one, Word::file}},
          .options = {{.name = "output",
                       .doc = "model.safetensors or model.pt.",
                       .value = "FILE",
                       .letter = 'o',
                       .word = Word::file},
                      {.name = "best", .doc = "The best model that the run kept."},
                      {.name = "step", .doc = "Of the checkpoint at this step.", .value = "N"},
                      {.name = "weights",
                       .doc = "best, model (the last) or a file; by itself the best where the run kept it.",
                       .value = "WHICH",
                       .word = Word::file}},
          .examples = {{"runner export shapes -o model.safetensors", "for safetensors.torch.load_file"},
                       {"runner export shapes --best -o model.pt", "for torch.load(.., weights_only=True)"}},
          .run = &run};
}

}  // namespace runner::cli
