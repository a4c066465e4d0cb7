#pragma once

#include <iosfwd>
#include <vector>

#include "runner/launch/attempt.hpp"

namespace runner {

// Why an attempt has ended: which of its ranks failed by themselves, and which only noticed that others did.
class Blame {
 public:
  Blame(const Attempt& attempt, RunStore& store);

  // Those that failed by themselves, the first of them first.
  const std::vector<const LaunchedRank*>& culprits() const { return culprits_; }

  // 0, or that of the first culprit; where there is none, of the first rank that failed.
  int exit_code() const;

  // The run came to its end on all ranks, if not to a good one: it was stopped by a signal, its loss
  // diverged, or its recipe has a mistake. Rank 0 has said why, and another attempt would end in the same
  // way.
  bool ended_together() const;

  // All culprits gave up with an error message before training began: they would again.
  bool failed_in_setup() const;

  // `all_shown`: the output of all ranks has been on the terminal already.
  void explain(std::ostream& messages, bool all_shown) const;

 private:
  const Attempt& attempt_;
  RunStore& store_;
  std::vector<const LaunchedRank*> culprits_;
};

}  // namespace runner
