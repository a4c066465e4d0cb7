#include "tests/faults/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <stdexcept>

namespace {

struct Fault {
  std::mutex mutex;
  std::atomic<bool> armed = false;
  std::string folder;
  int number = 0, error_number = 0, seen = 0;
  runner::testing::FailingCall::Kind kind = runner::testing::FailingCall::error;
  std::string failed;
  std::vector<runner::testing::SystemCall> calls;
} fault;

struct Hold {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> armed = false;
  bool reached = false;
  std::string folder;
} hold;

std::atomic<bool> no_unnamed_files = false;
std::atomic<int> no_exchange = 0, no_symbolic_links = 0;  // what the call fails with

constexpr int crashed = 42;  // exit code of a process that a call ended

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
bool fails(runner::testing::SystemCall call) {
  using runner::testing::FailingCall;
  const std::lock_guard lock(fault.mutex);
  if (!fault.armed || !is_below(call.path, fault.folder)) return false;
  const std::string name = call.name;
  fault.calls.push_back(std::move(call));
  if (fault.kind == FailingCall::short_write && name != "write") return false;
  if (++fault.seen != fault.number) return false;
  if (fault.kind == FailingCall::crash) ::_exit(crashed);
  fault.failed = name;
  errno = fault.error_number;
  return true;
}

bool fails(const char* name, const char* path, const char* to = "") {
  return fault.armed && fails({name, path, to});
}

bool fails(const char* name, int folder, const char* path) {
  return fault.armed && fails({name, path_in(folder, path)});
}

bool fails(const char* name, int descriptor) {
  if (!fault.armed) return false;
  struct stat facts{};
  ::fstat(descriptor, &facts);
  return fails({name, path_of(descriptor), "", facts.st_ino});
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
  return fails(name, folder, path) ? -1 : call(folder, path, flags, mode);
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
  if (fails("write", descriptor)) {
    if (fault.kind == runner::testing::FailingCall::short_write && count > 1)
      return call(descriptor, data, count / 2);
    return -1;
  }
  return call(descriptor, data, count);
}

// Nobody cuts the power in these tests, and flushing thousands of times would take minutes.
int fsync(int descriptor) {
  if (hold.armed) wait_where_held(path_of(descriptor));
  return fails("fsync", descriptor) ? -1 : 0;
}

int rename(const char* from, const char* to) {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  return fails("rename", from, to) ? -1 : call(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  if (fails("renameat2", from, to)) return -1;
  if ((flags & RENAME_EXCHANGE) != 0 && no_exchange != 0) {
    errno = no_exchange;
    return -1;
  }
  return call(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static const auto call = real<int (*)(int, const char*, int, const char*, int)>("linkat");
  return fails("linkat", to) ? -1 : call(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
  static const auto call = real<int (*)(const char*)>("unlink");
  return fails("unlink", path) ? -1 : call(path);
}

int unlinkat(int folder, const char* path, int flags) {
  static const auto call = real<int (*)(int, const char*, int)>("unlinkat");
  return fails("unlinkat", folder, path) ? -1 : call(folder, path, flags);
}

int mkdir(const char* path, mode_t mode) {
  static const auto call = real<int (*)(const char*, mode_t)>("mkdir");
  return fails("mkdir", path) ? -1 : call(path, mode);
}

int symlink(const char* target, const char* path) {
  static const auto call = real<int (*)(const char*, const char*)>("symlink");
  if (fails("symlink", path)) return -1;
  if (no_symbolic_links != 0) {
    errno = no_symbolic_links;
    return -1;
  }
  return call(target, path);
}

int link(const char* from, const char* to) {
  static const auto call = real<int (*)(const char*, const char*)>("link");
  return fails("link", to) ? -1 : call(from, to);
}

int statvfs(const char* path, struct statvfs* disk) {
  static const auto call = real<int (*)(const char*, struct statvfs*)>("statvfs");
  return fails("statvfs", path) ? -1 : call(path, disk);
}

int close(int descriptor) {
  static const auto call = real<int (*)(int)>("close");
  if (fails("close", descriptor)) {
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
  fault.kind = kind;
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

std::vector<SystemCall> FailingCall::calls() const {
  const std::lock_guard lock(fault.mutex);
  return fault.calls;
}

int FailingCall::count(const std::string& name, const std::string& file) const {
  return static_cast<int>(std::ranges::count_if(calls(), [&](const SystemCall& call) {
    return call.name == name && call.path.substr(call.path.rfind('/') + 1) == file;
  }));
}

bool crashes_at(int number, const std::string& folder, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    const FailingCall failing(folder, number, 0, FailingCall::crash);
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 1)
    throw std::runtime_error("the process that was to crash failed");
  return WEXITSTATUS(status) == crashed;
}

NoExchange::NoExchange(int error_number) { no_exchange = error_number; }
NoExchange::~NoExchange() { no_exchange = 0; }

NoUnnamedFiles::NoUnnamedFiles() { no_unnamed_files = true; }
NoUnnamedFiles::~NoUnnamedFiles() { no_unnamed_files = false; }

NoSymbolicLinks::NoSymbolicLinks(int error_number) { no_symbolic_links = error_number; }
NoSymbolicLinks::~NoSymbolicLinks() { no_symbolic_links = 0; }

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
