#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "runner/ranks/launch/attempt.hpp"

namespace runner {

// Why an attempt has ended: which ranks caused the failure, and which only failed because of others.
class Blame {
 public:
  Blame(const Attempt& attempt, RunStore& store);

  // The ranks that caused the failure, in the order in which they ended.
  const std::vector<const LaunchedRank*>& culprits() const { return culprits_; }

  // 0, or that of the first culprit; if there is none, that of the first rank that failed.
  int exit_code() const;

  // The run ended in the same way on all ranks: it was stopped by a signal, its loss diverged, or its recipe
  // has a mistake. Rank 0 has reported why, and another attempt would end in the same way.
  bool ended_together() const;

  // All culprits failed with an error message before training began, and would fail again.
  bool failed_in_setup() const;

  // `all_shown`: the output of all ranks has been on the terminal already.
  void explain(std::ostream& messages, bool all_shown) const;

 private:
  const Attempt& attempt_;
  RunStore& store_;
  std::int64_t furthest_step_ = -1;  // that any rank has reported
  std::vector<const LaunchedRank*> culprits_;
};

}  // namespace runner
