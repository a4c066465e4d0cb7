#include "components/models/exported/network.hpp"

#include <algorithm>
#include <set>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/evaluation.hpp"
#include "components/models/exported/held_tensors.hpp"
#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"

namespace runner::exported {

namespace {

// The programs of a file are told apart by their names. A file with one program, whatever its name, is for
// both.
struct Chosen {
  std::string training, evaluation;  // the latter may be empty
};

Chosen choose(const Archive& archive) {
  const std::vector<std::string> names = archive.programs();
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  if (names.empty()) throw Refusal("holds no program");
  if (names.size() == 1) return {names[0], ""};
  if (has("train")) return {"train", has("eval") ? "eval" : has("model") ? "model" : ""};
  throw Refusal("holds the programs " + listed(names) +
                "; the one to train must be named \"train\", the one for evaluation \"eval\" or \"model\"");
}

Program read(const Archive& archive, const std::string& name) {
  try {
    return read_program(archive.program(name));
  } catch (const Refusal& refusal) {
    throw Refusal("holds the program " + in_quotes(name) + ", which " + refusal.what());
  }
}

std::size_t find_output(const Program& program, const std::string& wanted) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    names.push_back(program.outputs[i].name);
    if (names.back() == wanted || std::to_string(i) == wanted) return i;
  }
  if (wanted.empty() && names.size() == 1) return 0;
  if (wanted.empty())
    throw Refusal("returns several tensors (" + listed(names) +
                  "): say which the loss takes, as in output = " + in_quotes(names[0]));
  throw Refusal("returns no " + in_quotes(wanted) + "; what it returns: " + listed(names));
}

// The field of the batch that an input takes beside the batch's input; empty: none.
std::string field_for(const DataSpec& data, const std::string& name) {
  if (name == "categories" && !data.categories.empty()) return name;
  const bool sentences = data.vocabulary > 0 && data.target_shape.empty();
  return sentences && (name == "mask" || name == "attention_mask") ? "mask" : "";
}

std::vector<std::string> join_inputs(const Program& program, const DataSpec& data) {
  std::vector<std::string> fields, names;
  std::size_t from_input = 0;
  for (const UserInput& input : program.inputs) {
    names.push_back(input.name);
    fields.push_back(field_for(data, input.name));
    if (fields.back().empty()) ++from_input;
  }
  if (from_input == 1) return fields;
  if (names.empty()) throw Refusal("takes no tensor");
  throw Refusal("takes the tensors " + listed(names) + ", but the dataset has one input" +
                (from_input == 0 ? ", which none of them is" : "") +
                "; wrap the model in a module that takes one, and export that");
}

std::string symbol_for(std::size_t dimension) {
  return dimension == 0 ? "batch" : "size" + std::to_string(dimension);
}

// The setting of torch.export.export that lets these dimensions vary.
std::string dynamic_shapes(const Program& program, std::size_t dimension) {
  std::string text;
  for (const UserInput& input : program.inputs)
    text += (text.empty() ? "" : ", ") + in_quotes(input.name) + ": {" + std::to_string(dimension) +
            ": torch.export.Dim(" + in_quotes(symbol_for(dimension)) + ")}";
  return "dynamic_shapes={" + text + "}";
}

void require_fit(const Program& program, const UserInput& input, const DataSpec& data) {
  const auto& shape = input.form.shape;
  if (shape.empty() || shape[0].size >= 0)
    throw Refusal("was exported for batches of exactly " +
                  (shape.empty() ? "one number" : std::to_string(shape[0].size) + " examples") +
                  ", but the last batch of an epoch may have fewer: export it with " +
                  dynamic_shapes(program, 0));
  std::vector<std::int64_t> batch{-1};
  batch.insert(batch.end(), data.input_shape.begin(), data.input_shape.end());
  const std::string both = "takes " + in_quotes(input.name) + " as " + form_text(input.form) +
                           ", but the dataset's examples are " + std::string(c10::toString(data.input_type)) +
                           " " + shape_text(data.input_shape);
  if (input.form.type != data.input_type || shape.size() != batch.size()) throw Refusal(both);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    const Dimension& dimension = shape[i];
    const bool fits = dimension.size >= 0
                          ? batch[i] == dimension.size
                          : batch[i] < 0 || (batch[i] >= dimension.low &&
                                             (dimension.high < 0 || batch[i] <= dimension.high));
    if (fits) continue;
    throw Refusal(both +
                  (dimension.size >= 0
                       ? "; export it with an example of that shape, or with " + dynamic_shapes(program, i)
                       : "; the range of " + in_quotes(dimension.symbol) + " is " +
                             std::to_string(dimension.low) + " to " + std::to_string(dimension.high)));
  }
}

void require_classes(const TensorForm& output, const DataSpec& data) {
  const bool each_token = data.vocabulary > 0 && data.target_shape == data.input_shape;
  if (each_token && output.shape.size() != 3)
    throw Refusal("returns " + form_text(output) +
                  ", but the dataset has a target for each token, which takes " +
                  "outputs [batch, tokens, vocabulary]");
  if (data.classes <= 0 || output.shape.size() < 2) return;
  const std::size_t axis = data.vocabulary > 0 && output.shape.size() == 3 ? 2 : 1;
  const std::int64_t outputs = output.shape[axis].size;
  const bool fits = axis == 2 ? outputs >= data.classes : outputs == data.classes;
  if (outputs < 0 || fits) return;
  throw Refusal("has " + std::to_string(outputs) + " outputs, but the dataset has " +
                std::to_string(data.classes) + (axis == 2 ? " tokens" : " classes"));
}

// What a batch may be can only be seen when it is there, if the data says -1.
void require_form(const UserInput& input, const torch::Tensor& tensor) {
  const auto& shape = input.form.shape;
  bool fits = tensor.dim() == std::ssize(shape);
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(i));
    fits = shape[i].size >= 0 ? size == shape[i].size
                              : size >= shape[i].low && (shape[i].high < 0 || size <= shape[i].high);
  }
  if (!fits)
    throw std::runtime_error(
        "The exported program takes " + in_quotes(input.name) + " as " + form_text(input.form) +
        ", but this batch is " + runner::form_text(tensor) +
        (shape.empty() || shape[0].high < 0
             ? "."
             : "; " + in_quotes(shape[0].symbol) + " is at most " + std::to_string(shape[0].high) + "."));
}

torch::Tensor field_of(const Batch& batch, const std::string& field, torch::Dtype type) {
  const auto found = batch.extra.find(field);
  if (found != batch.extra.end()) return found->second.to(type);
  if (field == "mask")
    return torch::ones(batch.input.sizes(), batch.input.options().dtype(type));  // no padding
  throw std::runtime_error("The batch has no " + in_quotes(field) + ", which the exported program takes.");
}

}  // namespace

Network::Side Network::side(Program program, const std::string& output, const DataSpec& data) {
  Side side;
  side.output = find_output(program, output);
  side.fields = join_inputs(program, data);
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (side.fields[i].empty()) require_fit(program, program.inputs[i], data);
  require_classes(program.outputs[side.output].form, data);
  side.code = compile(std::make_shared<const Program>(std::move(program)), side.output);
  return side;
}

Network::Network(const std::filesystem::path& file, const std::string& output, const DataSpec& data,
                 torch::nn::Module& module) {
  const Archive archive(file);
  const Chosen names = choose(archive);
  Program program = read(archive, names.training);
  if (exported_for_evaluation(program))
    throw Refusal(
        "was exported in evaluation mode, so that its dropout and batch norm would not train: call "
        "model.train() before torch.export.export, or use scripts/export_model.py");
  Program evaluated = names.evaluation.empty() ? for_evaluation(program) : read(archive, names.evaluation);
  training_ = side(std::move(program), output, data);
  evaluation_ = side(std::move(evaluated), output, data);
  const auto& changed = evaluation_->code.changed_held;
  if (const auto at = std::ranges::find(changed, true); at != changed.end())
    throw Refusal(
        "changes its buffer " +
        in_quotes(evaluation_->code.program->held[static_cast<std::size_t>(at - changed.begin())].name) +
        " in evaluation, too: write a program for evaluation beside it, which scripts/export_model.py does");

  HeldTensors tensors(archive);
  training_->held = tensors.of(*training_->code.program, names.training);
  tensors.register_in(module, *training_->code.program, training_->code.changed_held);
  evaluation_->held =
      tensors.of(*evaluation_->code.program, names.evaluation.empty() ? names.training : names.evaluation);
  std::set<const c10::TensorImpl*> registered;
  for (const torch::Tensor& tensor : module.parameters()) registered.insert(tensor.unsafeGetTensorImpl());
  for (const torch::Tensor& tensor : module.buffers()) registered.insert(tensor.unsafeGetTensorImpl());
  for (Side* each : {&*training_, &*evaluation_})
    for (std::size_t i = 0; i < each->held.size(); ++i) {
      each->loose.push_back(!registered.contains(each->held[i].unsafeGetTensorImpl()));
      const ProgramInput& held = each->code.program->held[i];
      if (each->loose[i] && held.kind == ProgramInput::Kind::parameter)
        throw Refusal("has a program for evaluation with the parameter " + in_quotes(held.name) +
                      ", which the program for training does not have");
    }
}

const TensorForm& Network::input() const {
  const auto& fields = training_->fields;
  const auto at = static_cast<std::size_t>(std::ranges::find(fields, "") - fields.begin());
  return training_->code.program->inputs[at].form;
}

const TensorForm& Network::output() const { return training_->code.program->outputs[training_->output].form; }

torch::Tensor Network::forward(const Batch& batch, bool training) {
  return run_side(training ? *training_ : *evaluation_, batch);
}

torch::Tensor Network::run_side(Side& side, const Batch& batch) const {
  const Code& code = side.code;
  const torch::Device device = batch.input.device();
  std::vector<c10::IValue> frame(code.slots);
  for (std::size_t i = 0; i < code.held.size(); ++i) {
    torch::Tensor& tensor = side.held[i];
    if (side.loose[i] && tensor.device() != device) tensor = tensor.to(device);
    frame[code.held[i]] = code.copied_held[i] ? tensor.clone() : tensor;
  }
  for (std::size_t i = 0; i < code.inputs.size(); ++i) {
    const std::string& field = side.fields[i];
    const UserInput& input = code.program->inputs[i];
    const torch::Tensor tensor = field.empty() ? batch.input : field_of(batch, field, input.form.type);
    require_form(input, tensor);
    frame[code.inputs[i]] = code.copied_inputs[i] ? tensor.clone() : tensor;
  }
  torch::Tensor output = run(code, frame, device);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < code.changes.size(); ++i) {
    const auto& held = code.program->held;
    const auto buffer = std::ranges::find(held, code.program->changes[i].buffer, &ProgramInput::name);
    side.held.at(static_cast<std::size_t>(buffer - held.begin())).copy_(frame[code.changes[i]].toTensor());
  }
  return output;
}

}  // namespace runner::exported
