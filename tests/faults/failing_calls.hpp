// System calls that fail when a test wants them to. The functions of this executable come before those of the
// C library for all of the libraries it loads.
#pragma once

#include <cerrno>
#include <string>

namespace runner::testing {

// While it lives, the call of that number (from 1) among those that write, flush, open, rename, link, make
// and remove below `folder` fails with this error. A short write does half of what it should instead.
class FailingCall {
 public:
  enum Kind { error, short_write };

  FailingCall(std::string folder, int number, int error_number, Kind kind = error);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  bool happened() const;     // whether there was a call of that number
  std::string name() const;  // of the call that failed: "fsync"
};

}  // namespace runner::testing
