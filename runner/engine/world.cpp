#include "runner/engine/world.hpp"

#include <cstring>

#include "components/torch/shape_text.hpp"
#include "registry/base/log.hpp"

namespace runner {

namespace {

// With one rank the part is the whole: nothing to do if both are the same memory.
void copy_unless_same(const torch::Tensor& to, const torch::Tensor& from) {
  if (to.data_ptr() != from.data_ptr()) to.view(-1).copy_(from.reshape(-1));
}

torch::Tensor bytes_of(const std::string& text) {
  torch::Tensor bytes = torch::empty(static_cast<std::int64_t>(text.size()), torch::kUInt8);
  if (!text.empty()) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_of(const torch::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

[[noreturn]] void nobody_there(std::string_view what) {
  throw std::logic_error(log::format("A single process has nobody to exchange {} with.", what));
}

// Equal for tensors that differ in their first dimension only.
std::int64_t form_of(const torch::Tensor& tensor) {
  std::size_t form = static_cast<std::size_t>(tensor.scalar_type());
  for (const std::int64_t extent : tensor.sizes().slice(1))
    form = form * 1'000'003 + static_cast<std::size_t>(extent) + 1;
  return static_cast<std::int64_t>(form);
}

// Called by every rank, since each has seen that the forms differ.
[[noreturn]] void refuse_different(World& world, const std::string& form, std::string_view what) {
  std::string all;
  int rank = 0;
  for (const std::string& text : world.gather_texts(form, what))
    all += (rank > 0 ? ", rank " : "rank ") + std::to_string(rank) + " has " + text, ++rank;
  throw std::invalid_argument(log::format(
      "{}: the tensors of the ranks may differ in their first dimension only, but {}. Pad them to "
      "one shape first, as pad_across_processes() does.",
      what, all));
}

}  // namespace

Work World::begin_all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view) {
  copy_unless_same(all, part);
  return {};
}

Work World::begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all, std::string_view) {
  copy_unless_same(part, all);
  return {};
}

void World::send(const torch::Tensor&, int, std::string_view what) { nobody_there(what); }
void World::receive(const torch::Tensor&, int, std::string_view what) { nobody_there(what); }
void World::exchange(const torch::Tensor&, const torch::Tensor&, int, std::string_view what) {
  nobody_there(what);
}

std::vector<torch::Tensor> World::gather(const torch::Tensor& tensor, std::string_view what) {
  if (alone()) return {tensor};
  const auto ranks = static_cast<std::size_t>(size());
  const torch::Tensor facts = torch::empty({size(), 2}, torch::kInt64);
  all_gather(facts, torch::tensor({tensor.size(0), form_of(tensor)}, torch::kInt64), what);
  const torch::Tensor rows = facts.select(1, 0), forms = facts.select(1, 1);
  if (!forms.eq(forms[0]).all().item<bool>()) refuse_different(*this, form_text(tensor), what);
  const std::int64_t most = rows.max().item<std::int64_t>();

  // Padded to the longest, because collectives need equal shapes.
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  shape[0] = most;
  torch::Tensor padded = tensor.contiguous();
  if (tensor.size(0) != most) {
    padded = torch::zeros(shape, tensor.options());
    padded.narrow(0, 0, tensor.size(0)).copy_(tensor);
  }
  shape[0] = most * size();
  const torch::Tensor all = torch::empty(shape, tensor.options());
  if (all.numel() > 0) all_gather(all, padded, what);
  std::vector<torch::Tensor> parts(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::int64_t>(rank);
    parts[rank] = all.narrow(0, index * most, rows[index].item<std::int64_t>());
  }
  return parts;
}

torch::Tensor World::gather_rows(const torch::Tensor& tensor, std::string_view what) {
  return alone() ? tensor : torch::cat(gather(tensor, what));
}

std::string World::broadcast_text(const std::string& text, int from, std::string_view what) {
  if (alone()) return text;
  const torch::Tensor length = torch::tensor({static_cast<std::int64_t>(text.size())}, torch::kInt64);
  broadcast(length, from, what);
  const torch::Tensor bytes =
      rank() == from ? bytes_of(text) : torch::empty(length.item<std::int64_t>(), torch::kUInt8);
  if (bytes.numel() > 0) broadcast(bytes, from, what);
  return text_of(bytes);
}

std::vector<std::string> World::gather_texts(const std::string& text, std::string_view what) {
  if (alone()) return {text};
  std::vector<std::string> texts;
  for (const torch::Tensor& bytes : gather(bytes_of(text), what)) texts.push_back(text_of(bytes));
  return texts;
}

double World::all_reduce(double value, Reduction reduction, std::string_view what) {
  if (alone()) return value;
  const torch::Tensor number = torch::tensor({value}, torch::kFloat64);
  all_reduce(number, reduction, what);
  return number.item<double>();
}

}  // namespace runner
