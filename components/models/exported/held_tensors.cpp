#include "components/models/exported/held_tensors.hpp"

#include <algorithm>

#include "components/torch/shape_text.hpp"
#include "components/torch/torch_error.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapping_guard.hpp"

namespace runner::exported {

namespace {

constexpr std::ptrdiff_t deepest_name = 64;  // of modules within modules

// Whether one of the tensors may hold an element of the other.
bool overlap(const StoredTensor& a, const StoredTensor& b) {
  const auto end = [](const StoredTensor& stored) {
    if (std::ranges::find(stored.sizes, 0) != stored.sizes.end()) return stored.offset;
    std::int64_t last = stored.offset;
    for (std::size_t i = 0; i < stored.sizes.size(); ++i) last += (stored.sizes[i] - 1) * stored.strides[i];
    return last + 1;
  };
  return a.offset < end(b) && b.offset < end(a);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The module that a parameter belongs to: the modules above it are created if there are none yet.
torch::nn::Module& owner(torch::nn::Module& root, const std::string& name) {
  if (std::ranges::count(name, '.') > deepest_name)
    throw Refusal("is damaged: the name of a parameter has more than " + std::to_string(deepest_name) +
                  " parts");
  torch::nn::Module* at = &root;
  for (std::size_t begin = 0, dot = name.find('.'); dot != name.npos;
       begin = dot + 1, dot = name.find('.', begin)) {
    const std::string part = name.substr(begin, dot - begin);
    const auto children = at->named_children();
    const auto* found = children.find(part);
    at = found ? found->get() : at->register_module(part, std::make_shared<torch::nn::Module>()).get();
  }
  return *at;
}

}  // namespace

// Allocated before it is read, so that a model can be built without memory for its parameters.
torch::Tensor HeldTensors::read(const StoredTensor& stored) const {
  const auto options = torch::TensorOptions(stored.type);
  torch::Tensor tensor = torch::empty_strided(stored.sizes, stored.strides, options);
  if (!tensor.is_non_overlapping_and_dense()) tensor = torch::empty(stored.sizes, options);
  if (tensor.is_meta() || tensor.numel() == 0) return tensor;
  const torch::NoGradGuard no_grad;
  tensor.copy_(archive_.view(stored));
  archive_.give_back(stored);
  require_whole_files();
  return tensor;
}

torch::Tensor HeldTensors::tensor(const std::string& name, const StoredTensor& stored, bool parameter) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    if (found->second.sizes() != stored.sizes || found->second.scalar_type() != stored.type)
      throw Refusal("has two programs in which " + in_quotes(name) +
                    " differs: " + runner::form_text(found->second) + " and " + shape_text(stored.sizes) +
                    "; write both from the same module");
    return found->second;
  }
  auto& made = by_entry_[stored.entry];
  for (const Made& other : made) {
    if (other.stored == stored) return by_name_[name] = other.tensor;
    if (parameter && overlap(other.stored, stored))
      throw Refusal("has two parameters that share some of their memory, " + in_quotes(other.name) + " and " +
                    in_quotes(name) + ", which is not supported: clone one of them before the export");
  }
  torch::Tensor tensor = read(stored);
  if (parameter && stored.requires_grad) {
    if (!tensor.is_floating_point() && !tensor.is_complex())
      throw Refusal("is damaged: its parameter " + in_quotes(name) + " cannot have gradients");
    tensor.set_requires_grad(true);
  }
  made.push_back({stored, tensor, name});
  return by_name_[name] = tensor;
}

std::vector<torch::Tensor> HeldTensors::of(const Program& program, const std::string& name) {
  const std::map<std::string, StoredTensor> stored = archive_.tensors(name);
  std::vector<torch::Tensor> tensors;
  for (const ProgramInput& held : program.held) {
    const auto found = stored.find(held.name);
    if (found == stored.end())
      throw Refusal("does not have the values of " + in_quotes(held.name) + ", which its program uses");
    const bool shared =
        held.kind != ProgramInput::Kind::constant;  // constants have the same names everywhere
    tensors.push_back(shared ? tensor(held.name, found->second, held.kind == ProgramInput::Kind::parameter)
                             : read(found->second));
  }
  return tensors;
}

void HeldTensors::register_in(torch::nn::Module& module, const Program& program,
                              const std::vector<bool>& changed) const {
  using Kind = ProgramInput::Kind;
  for (std::size_t i = 0; i < program.held.size(); ++i) {
    const ProgramInput& held = program.held[i];
    if (held.kind == Kind::constant || (held.kind == Kind::buffer && !held.persistent && !changed[i]))
      continue;
    const torch::Tensor& tensor = by_name_.at(held.name);
    try {
      torch::nn::Module& holder = owner(module, held.name);
      if (held.kind == Kind::parameter) {
        holder.register_parameter(last_part(held.name), tensor, tensor.requires_grad());
      } else {
        holder.register_buffer(last_part(held.name), tensor);
      }
    } catch (const c10::Error& error) {
      throw Refusal("is damaged: " + in_quotes(held.name) +
                    " cannot be the name of a parameter: " + reason_of(error));
    }
  }
}

}  // namespace runner::exported
