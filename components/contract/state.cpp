#include "components/contract/state.hpp"

#include "registry/base/wording.hpp"

#include <ATen/core/Formatting.h>

#include <sstream>

namespace runner {

bool State::empty() const {
  return tensors.empty() && integers.empty() && numbers.empty() && texts.empty() && parts.empty();
}

std::int64_t State::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += static_cast<std::int64_t>(tensor.nbytes());
  for (const auto& [name, part] : parts) sum += part.bytes();
  return sum;
}

State State::copy() const {
  State copied{{}, integers, numbers, texts, {}};
  for (const auto& [name, tensor] : tensors)
    copied.tensors[name] = tensor.detach().to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false,
                                              /*copy=*/true, torch::MemoryFormat::Contiguous);
  for (const auto& [name, part] : parts) copied.parts[name] = part.copy();
  return copied;
}

template <class Entries>
const typename Entries::mapped_type* StateReader::find(const Entries& entries, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) return nullptr;
  taken_.insert(&found->second);
  return &found->second;
}

template <class Entries>
const typename Entries::mapped_type& StateReader::take(const Entries& entries, const std::string& name) {
  if (const auto* found = find(entries, name)) return *found;
  throw StateError("the saved state lacks " + in_quotes(name));
}

const torch::Tensor& StateReader::tensor(const std::string& name) { return take(state_.tensors, name); }
std::int64_t StateReader::integer(const std::string& name) { return take(state_.integers, name); }
double StateReader::number(const std::string& name) { return take(state_.numbers, name); }
const std::string& StateReader::text(const std::string& name) { return take(state_.texts, name); }
const State& StateReader::part(const std::string& name) { return take(state_.parts, name); }

const torch::Tensor* StateReader::find_tensor(const std::string& name) { return find(state_.tensors, name); }
const std::string* StateReader::find_text(const std::string& name) { return find(state_.texts, name); }
const State* StateReader::find_part(const std::string& name) { return find(state_.parts, name); }

std::optional<std::int64_t> StateReader::find_integer(const std::string& name) {
  const auto* found = find(state_.integers, name);
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<double> StateReader::find_number(const std::string& name) {
  const auto* found = find(state_.numbers, name);
  return found ? std::optional(*found) : std::nullopt;
}

void StateReader::tensor_into(const std::string& name, torch::Tensor target) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor& saved = tensor(name);
  if (saved.sizes() != target.sizes()) {
    std::ostringstream message;
    message << "the saved state has " << in_quotes(name) << " in the shape " << saved.sizes()
            << ", but here it is " << target.sizes();
    throw StateError(message.str());
  }
  target.copy_(saved);
}

void StateReader::finish() const {
  const auto check = [&](const auto& entries) {
    for (const auto& [name, entry] : entries) {
      if (!taken_.contains(&entry))
        throw StateError("the saved state has an unexpected entry " + in_quotes(name));
    }
  };
  check(state_.tensors);
  check(state_.integers);
  check(state_.numbers);
  check(state_.texts);
  check(state_.parts);
}

}  // namespace runner
