#include "tests/faults/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>

namespace {

struct Fault {
  std::mutex mutex;
  std::atomic<bool> armed = false;
  std::string folder;
  int number = 0, error_number = 0, seen = 0;
  bool short_write = false;
  std::string failed;
  std::map<std::pair<std::string, std::string>, int> calls;  // by name and file name
} fault;

struct Hold {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> armed = false;
  bool reached = false;
  std::string folder;
} hold;

std::atomic<bool> no_unnamed_files = false;

bool is_below(const std::string& path, const std::string& folder) {
  return path.compare(0, folder.size(), folder) == 0;
}

std::string path_of(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

std::string path_in(int folder, const char* name) {
  return folder == AT_FDCWD || name[0] == '/' ? name : path_of(folder) + "/" + name;
}

// Whether this call is the one that fails.
bool fails(const std::string& path, const char* name) {
  if (!fault.armed) return false;
  const std::lock_guard lock(fault.mutex);
  if (!fault.armed || !is_below(path, fault.folder)) return false;
  ++fault.calls[{name, path.substr(path.rfind('/') + 1)}];
  if (fault.short_write && std::string_view(name) != "write") return false;
  if (++fault.seen != fault.number) return false;
  fault.failed = name;
  errno = fault.error_number;
  return true;
}

void wait_where_held(const std::string& path) {
  std::unique_lock lock(hold.mutex);
  if (!hold.armed || !is_below(path, hold.folder)) return;
  hold.reached = true;
  hold.changed.notify_all();
  hold.changed.wait(lock, [] { return !hold.armed; });
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int open_or_fail(const char* name, int folder, const char* path, int flags, mode_t mode) {
  static const auto call = real<int (*)(int, const char*, int, ...)>("openat");
  if ((flags & O_TMPFILE) == O_TMPFILE && no_unnamed_files) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return fault.armed && fails(path_in(folder, path), name) ? -1 : call(folder, path, flags, mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_or_fail("open", AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_or_fail("openat", folder, path, flags, mode);
}

ssize_t write(int descriptor, const void* data, std::size_t count) {
  static const auto call = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (fault.armed && fails(path_of(descriptor), "write")) {
    if (fault.short_write && count > 1) return call(descriptor, data, count / 2);
    return -1;
  }
  return call(descriptor, data, count);
}

// Nobody cuts the power in these tests, and flushing thousands of times would take minutes.
int fsync(int descriptor) {
  if (hold.armed) wait_where_held(path_of(descriptor));
  return fault.armed && fails(path_of(descriptor), "fsync") ? -1 : 0;
}

int rename(const char* from, const char* to) {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  return fails(from, "rename") ? -1 : call(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(from, "renameat2") ? -1 : call(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static const auto call = real<int (*)(int, const char*, int, const char*, int)>("linkat");
  return fails(to, "linkat") ? -1 : call(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
  static const auto call = real<int (*)(const char*)>("unlink");
  return fails(path, "unlink") ? -1 : call(path);
}

int unlinkat(int folder, const char* path, int flags) {
  static const auto call = real<int (*)(int, const char*, int)>("unlinkat");
  return fault.armed && fails(path_in(folder, path), "unlinkat") ? -1 : call(folder, path, flags);
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

int statvfs(const char* path, struct statvfs* disk) {
  static const auto call = real<int (*)(const char*, struct statvfs*)>("statvfs");
  return fails(path, "statvfs") ? -1 : call(path, disk);
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
  fault.calls.clear();
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

std::set<std::string> FailingCall::names() const {
  const std::lock_guard lock(fault.mutex);
  std::set<std::string> names;
  for (const auto& [call, times] : fault.calls) names.insert(call.first);
  return names;
}

int FailingCall::count(const std::string& name, const std::string& file) const {
  const std::lock_guard lock(fault.mutex);
  const auto found = fault.calls.find({name, file});
  return found == fault.calls.end() ? 0 : found->second;
}

NoUnnamedFiles::NoUnnamedFiles() { no_unnamed_files = true; }
NoUnnamedFiles::~NoUnnamedFiles() { no_unnamed_files = false; }

HeldFlush::HeldFlush(std::string folder) {
  const std::lock_guard lock(hold.mutex);
  hold.folder = std::move(folder);
  hold.reached = false;
  hold.armed = true;
}

HeldFlush::~HeldFlush() { release(); }

void HeldFlush::wait_until_reached() const {
  std::unique_lock lock(hold.mutex);
  hold.changed.wait(lock, [] { return hold.reached; });
}

void HeldFlush::release() {
  const std::lock_guard lock(hold.mutex);
  hold.armed = false;
  hold.changed.notify_all();
}

}  // namespace runner::testing
