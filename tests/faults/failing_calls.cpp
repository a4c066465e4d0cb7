#include "tests/faults/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace {

struct Fault {
  std::mutex mutex;
  bool armed = false;
  std::string folder;
  int number = 0, error_number = 0, seen = 0;
  bool short_write = false;
  std::string failed;
} fault;

std::string path_of(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// Whether this call is the one that fails.
bool fails(const std::string& path, const char* name) {
  const std::lock_guard lock(fault.mutex);
  if (!fault.armed || path.compare(0, fault.folder.size(), fault.folder) != 0) return false;
  if (++fault.seen != fault.number) return false;
  fault.failed = name;
  errno = fault.error_number;
  return true;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, std::size_t count) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (fault.armed && fails(path_of(descriptor), "write")) {
    if (fault.short_write && count > 1) return call(descriptor, data, count / 2);
    return -1;
  }
  return call(descriptor, data, count);
}

int fsync(int descriptor) {
  static const auto call = real<int (*)(int)>("fsync");
  return fault.armed && fails(path_of(descriptor), "fsync") ? -1 : call(descriptor);
}

int rename(const char* from, const char* to) {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  return fails(from, "rename") ? -1 : call(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(from, "renameat2") ? -1 : call(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  static const auto call = real<int (*)(const char*, mode_t)>("mkdir");
  return fails(path, "mkdir") ? -1 : call(path, mode);
}

int symlink(const char* target, const char* path) {
  static const auto call = real<int (*)(const char*, const char*)>("symlink");
  return fails(path, "symlink") ? -1 : call(target, path);
}

int mkostemp(char* pattern, int flags) {
  static const auto call = real<int (*)(char*, int)>("mkostemp");
  return fails(pattern, "mkostemp") ? -1 : call(pattern, flags);
}

int close(int descriptor) {
  static const auto call = real<int (*)(int)>("close");
  if (fault.armed && fails(path_of(descriptor), "close")) {
    const int problem = errno;
    call(descriptor);
    errno = problem;
    return -1;
  }
  return call(descriptor);
}

}  // extern "C"

namespace runner::testing {

FailingCall::FailingCall(std::string folder, int number, int error_number, Kind kind) {
  const std::lock_guard lock(fault.mutex);
  fault.folder = std::move(folder);
  fault.number = number;
  fault.error_number = error_number;
  fault.short_write = kind == short_write;
  fault.seen = 0;
  fault.failed.clear();
  fault.armed = true;
}

FailingCall::~FailingCall() {
  const std::lock_guard lock(fault.mutex);
  fault.armed = false;
}

bool FailingCall::happened() const {
  const std::lock_guard lock(fault.mutex);
  return !fault.failed.empty();
}

std::string FailingCall::name() const {
  const std::lock_guard lock(fault.mutex);
  return fault.failed;
}

}  // namespace runner::testing
