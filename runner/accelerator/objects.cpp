#include "runner/accelerator/objects.hpp"

#include <cxxabi.h>
#include <torch/utils.h>

#include <cstdlib>
#include <memory>

#include "registry/base/log.hpp"

namespace runner {

namespace {

std::string readable(const char* type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type, nullptr, nullptr, &status),
                                                         &std::free);
  return text ? text.get() : type;
}

}  // namespace

torch::Tensor take_rows(const torch::Tensor& tensor, const Rows& rows) {
  if (!tensor.defined()) return tensor;
  bool consecutive = !rows.empty();
  for (std::size_t i = 1; i < rows.size(); ++i) consecutive = consecutive && rows[i] == rows[i - 1] + 1;
  if (consecutive) return tensor.narrow(0, rows.front(), static_cast<std::int64_t>(rows.size()));
  return tensor.index_select(0, torch::tensor(rows, torch::kLong).to(tensor.device()));
}

void ObjectWriter::put_tensor(const torch::Tensor& tensor) {
  put(tensor.defined());
  if (!tensor.defined()) return;
  const torch::Tensor own = tensor.detach().to(torch::kCPU).contiguous();
  put(tensor.scalar_type());
  put(own.sizes().vec());
  put(own.nbytes());
  if (own.nbytes() > 0) bytes_.append(static_cast<const char*>(own.const_data_ptr()), own.nbytes());
}

torch::Tensor ObjectReader::get_tensor() {
  bool defined = false;
  get(defined);
  if (!defined) return {};
  torch::ScalarType type{};
  std::vector<std::int64_t> sizes;
  get(type);
  get(sizes);
  torch::Tensor tensor = torch::empty(sizes, type);
  const std::string_view bytes = take(size());
  if (bytes.size() != tensor.nbytes()) throw std::runtime_error("a tensor that another rank sent is damaged");
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

void require_type(const std::string& sent, const std::type_info& wanted, const char* call, int rank) {
  if (sent == wanted.name()) return;
  throw std::invalid_argument(log::format("{}: rank {} has {}, but this rank has {}.", call, rank,
                                          readable(sent.c_str()), readable(wanted.name())));
}

}  // namespace runner
