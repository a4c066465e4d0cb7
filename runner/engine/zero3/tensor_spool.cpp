#include "runner/engine/zero3/tensor_spool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <torch/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "registry/base/arithmetic.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, int error) {
  throw IoError("Cannot write a temporary file in " + folder.string() + ": " + std::strerror(error) + ".");
}

int open_without_a_name(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = (folder / ".spool-XXXXXX").string();  // if O_TMPFILE is not supported
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

TensorSpool::TensorSpool(const std::filesystem::path& folder)
    : folder_(folder), file_(open_without_a_name(folder_)) {
  if (file_ < 0) fail(folder_, errno);
}

TensorSpool::~TensorSpool() { ::close(file_); }

torch::Tensor TensorSpool::put(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().cpu().contiguous();
  const auto bytes = static_cast<std::int64_t>(plain.nbytes());
  if (bytes == 0) return plain.clone();
  const auto* data = static_cast<const char*>(plain.const_data_ptr());
  for (std::int64_t done = 0; done < bytes;) {
    const auto written = ::pwrite(file_, data + done, static_cast<std::size_t>(bytes - done), size_ + done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(folder_, written < 0 ? errno : ENOSPC);
    done += written;
  }
  const auto length = static_cast<std::size_t>(bytes);
  void* const mapped = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_, size_);
  if (mapped == MAP_FAILED) fail(folder_, errno);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  size_ += divide_up(bytes, page) * page;
  return torch::from_blob(
      mapped, plain.sizes(), [length](void* start) { ::munmap(start, length); }, plain.options());
}

}  // namespace runner
