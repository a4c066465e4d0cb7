#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <ostream>

#include "components/models/program_writer.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/models/weights/peft_folder.hpp"
#include "components/models/weights/weight_files.hpp"
#include "components/weights/safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/mapping_guard.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/predict/merge_adapter.hpp"
#include "runner/process/input_error.hpp"
#include "runner/terminal/format.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// For Python's torch.load, also with weights_only: a plain dictionary, in which each tensor has its own
// storage. The numbers are read one tensor at a time, as they are written.
void write_pt(const WeightFiles& weights, const fs::path& path) {
  c10::impl::GenericDict dictionary(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [name, tensor] : weights.tensors)
    dictionary.insert(
        name, torch::from_blob(const_cast<void*>(tensor.const_data_ptr()), tensor.sizes(), tensor.options()));

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
  for (const auto& [name, tensor] : weights.tensors) {
    const torch::Tensor plain = tensor.contiguous();
    archive.writeRecord("data/" + std::to_string(index++), plain.const_data_ptr(), plain.nbytes());
    weights.give_back(tensor);
  }
  archive.writeEndOfFile();
  require_whole_files();
  file.commit();
}

fs::path chosen_weights(const fs::path& folder, const Arguments& arguments,
                        std::optional<std::int64_t> step) {
  if (step) {
    const fs::path checkpoint = CheckpointStore(folder).path_of(*step);
    if (!fs::exists(checkpoint))
      throw InputError("The run has no checkpoint at step " + std::to_string(*step) +
                       "; `runner checkpoints " + folder.string() + "` lists those that it has.");
    return weights_of_checkpoint(checkpoint);
  }
  return find_weights(folder, arguments.has("best") ? "best" : arguments.get("weights"));
}

// The program that the run trains, with its trained weights, for Python's torch.export.load.
int write_program(const fs::path& folder, const fs::path& weights, const fs::path& out, Session& session) {
  Diagnostics found;
  const auto run =
      load_run({folder, weights.string(), {}, session.environment, std::nullopt}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!run) return Exit::bad_input;
  const auto* writer = dynamic_cast<const ProgramWriter*>(run->model.get());
  if (!writer)
    return refuse(
        {"-o " + out.string() + ": only the model \"exported\" is written as a program; this run has " +
             in_quotes(run->recipe.model.name()) + ", whose weights go into .safetensors or .pt",
         {},
         ""},
        session);
  writer->write_program(out);
  session.out << out.string() << ": the program with the weights of " << weights.string() << "\n";
  return Exit::done;
}

// The adapter of a run: as PEFT writes it, or merged into the weights that it was trained on.
int export_adapter(const TrainedRun& trained, const fs::path& out, bool merge, Session& session) {
  if (!trained.model->adaptation)
    return refuse(
        {"the run trained no adapter", {"-o model.safetensors writes its weights into one file"}, ""},
        session);
  if (!merge) {
    write_peft_folder(out, *trained.model->adaptation, ModelWeights(*trained.model).all());
    session.out << out.string() << ": the adapter of " << trained.weights.string() << ", as PEFT writes it\n";
    return Exit::done;
  }
  const std::vector<NamedTensor> weights = merged_weights(trained);
  if (out.extension() == ".safetensors") {
    save_weights(weights, out);
  } else {
    write_merged_folder(trained, weights, out);
  }
  const MergeProof proof = prove_merged(trained, out);
  const std::string found =
      log::format("the outputs of {} {} differ by at most {} from those with the adapter; the largest is {}",
                  proof.examples, proof.inputs, rounded(proof.difference), rounded(proof.largest));
  if (!proof.holds())
    throw std::runtime_error(
        log::format("{} was written, but it is not the trained model: {}, allowed are {}.", out.string(),
                    found, rounded(proof.bound)));
  session.out << out.string() << ": " << weights.size() << " tensors, the adapter of "
              << trained.weights.string() << " merged; " << found << "\n";
  return Exit::done;
}

int run(const Arguments& arguments, Session& session) {
  const fs::path folder = find_run(arguments.get("RUN"));
  const fs::path out = arguments.get("output");
  const bool merge = arguments.has("merge"), program = out.extension() == ".pt2";
  const bool into_folder = !program && out.extension() != ".safetensors" && out.extension() != ".pt";
  if (out.has_extension() && into_folder && !fs::is_directory(out))
    return refuse(
        {"-o names the file to write: model.safetensors, model.pt for Python's torch.load, or model.pt2 "
         "for torch.export.load; or a folder, for an adapter",
         {},
         ""},
        session);
  if (merge && (program || out.extension() == ".pt"))
    return refuse({"--merge writes a folder, or model.safetensors", {}, "runner export --help"}, session);
  const auto given = [&](const char* option) { return arguments.has(option) ? 1 : 0; };
  if (given("best") + given("step") + given("weights") > 1)
    return refuse({"--best, --step and --weights each say which weights to write: give one of them",
                   {},
                   "runner export --help"},
                  session);
  std::optional<std::int64_t> step;
  try {
    step = whole_option(arguments, "step", 0);
  } catch (const BadNumber& bad) {
    return refuse({bad.message}, session);
  }
  const fs::path chosen = chosen_weights(folder, arguments, step);
  if (out.extension() == ".pt2") return write_program(folder, chosen, out, session);
  if (merge || into_folder) {
    Diagnostics problems;
    const auto trained =
        load_run({.run = folder, .weights = chosen.string(), .environment = session.environment},
                 session.registry, problems);
    session.err << render(problems, session.err_style.colour);
    return trained ? export_adapter(*trained, out, merge, session) : Exit::bad_input;
  }
  const WeightFiles weights = read_weight_files(chosen);
  if (out.extension() == ".pt") {
    write_pt(weights, out);
  } else {
    write_safetensors(out, {weights.tensors.begin(), weights.tensors.end()}, {{"format", "pt"}},
                      [&](const torch::Tensor& tensor) { weights.give_back(tensor); });
  }
  session.out << shown_message(out.string()) << ": " << weights.tensors.size() << " tensors of "
              << shown_message(chosen.string()) << "\n";
  return Exit::done;
}

}  // namespace

Command export_command() {
  return {
      .name = "export",
      .summary =
          "Write the weights of a run into one file, or its adapter into a folder, for PyTorch and others.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file}},
      .options = {{.name = "output",
                   .doc = "Output file, .safetensors or .pt; for an adapter, a folder as PEFT writes it.",
                   .value = "FILE",
                   .letter = 'o',
                   .word = Word::file},
                  {.name = "merge",
                   .doc =
                       "Add the adapter into the weights that it was trained on, write a folder as "
                       "HuggingFace's, and compare the outputs of what was written with those of the run."},
                  {.name = "best", .doc = "The best model that the run kept."},
                  {.name = "step", .doc = "The weights of the checkpoint at this step.", .value = "N"},
                  {.name = "weights",
                   .doc = "best, model (the last step) or a file; default: best if the run kept it.",
                   .value = "WHICH",
                   .word = Word::file}},
      .examples = {{"runner export shapes -o model.safetensors", "for safetensors.torch.load_file"},
                   {"runner export shapes --best -o model.pt", "for torch.load(.., weights_only=True)"},
                   {"runner export chat --merge -o merged/", "for AutoModel.from_pretrained"}},
      .run = &run};
}

}  // namespace runner::cli
