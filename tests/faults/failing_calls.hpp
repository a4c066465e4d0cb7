// System calls that fail when a test wants them to. The functions of this executable come before those of the
// C library for all of the libraries it loads.
#pragma once

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

namespace runner::testing {

struct SystemCall {
  std::string name;        // "fsync"
  std::string path;        // of a file without a name: nothing useful
  std::string to = {};     // what it is renamed to
  unsigned long node = 0;  // the inode of what is written, flushed or closed
};

// While it lives, the call of that number (from 1; 0: none) among those that open, write, flush, close, name,
// rename, link, make and remove below `folder`, or ask how much room there is, fails with this error. Or the
// write of that number does half of what it should. Or the process ends there, as if it were killed. Only one
// at a time.
class FailingCall {
 public:
  enum Kind { error, short_write, crash };

  FailingCall(std::string folder, int number, int error_number, Kind kind = error);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  bool happened() const;                  // whether there was a call of that number
  std::string name() const;               // of the call that failed: "fsync"
  std::vector<SystemCall> calls() const;  // all below the folder, in their order
  int count(const std::string& name, const std::string& file) const;  // how often, for a file of that name
};

// Whether the work has a call of that number below the folder. It is done in a process of its own, which ends
// at that call.
bool crashes_at(int number, const std::string& folder, const std::function<void()>& work);

// While it lives, two names cannot be exchanged, as on file systems that cannot do that.
class NoExchange {
 public:
  explicit NoExchange(int error_number);
  ~NoExchange();
  NoExchange(const NoExchange&) = delete;
  NoExchange& operator=(const NoExchange&) = delete;
};

// While it lives, no file can be made without a name, as on file systems that cannot do that.
class NoUnnamedFiles {
 public:
  NoUnnamedFiles();
  ~NoUnnamedFiles();
  NoUnnamedFiles(const NoUnnamedFiles&) = delete;
  NoUnnamedFiles& operator=(const NoUnnamedFiles&) = delete;
};

// While it lives, no symbolic link can be made, as on file systems that do not have them.
class NoSymbolicLinks {
 public:
  explicit NoSymbolicLinks(int error_number);
  ~NoSymbolicLinks();
  NoSymbolicLinks(const NoSymbolicLinks&) = delete;
  NoSymbolicLinks& operator=(const NoSymbolicLinks&) = delete;
};

// While it lives, every thread that flushes something below `folder` waits there, until release().
class HeldFlush {
 public:
  explicit HeldFlush(std::string folder);
  ~HeldFlush();  // releases
  HeldFlush(const HeldFlush&) = delete;
  HeldFlush& operator=(const HeldFlush&) = delete;

  void wait_until_reached() const;  // until some thread waits there
  void release();
};

}  // namespace runner::testing
