#include "runner/engine/runtime/process.hpp"

#include <sched.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <optional>
#include <string>

#include "tests/support/files.hpp"

using namespace runner;

namespace {

// As a launcher that has not shared the cores out, or one that has; afterwards all is as it was.
class ThreadsVariable {
 public:
  explicit ThreadsVariable(const std::optional<std::string>& value) : variable_("OMP_NUM_THREADS", value) {}
  ThreadsVariable(const ThreadsVariable&) = delete;
  ThreadsVariable& operator=(const ThreadsVariable&) = delete;
  ~ThreadsVariable() { torch::set_num_threads(threads_); }

 private:
  const testing::EnvironmentVariable variable_;
  const int threads_ = torch::get_num_threads();
};

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  return CPU_COUNT(&allowed);
}

}  // namespace

TEST_CASE("process: the ranks of a machine share its cores") {
  const ThreadsVariable unset(std::nullopt);
  const int cores = usable_cores();
  torch::set_num_threads(cores);
  apply(ProcessSettings{.local_ranks = 1});
  CHECK(torch::get_num_threads() == cores);
  apply(ProcessSettings{.local_ranks = 2});
  CHECK(torch::get_num_threads() == std::max(1, cores / 2));
  apply(ProcessSettings{.local_ranks = 2 * cores});
  CHECK(torch::get_num_threads() == 1);
  apply(ProcessSettings{.threads = 3, .local_ranks = 2});
  CHECK(torch::get_num_threads() == 3);
}

TEST_CASE("process: a launcher that has shared the cores out has the last word") {
  const ThreadsVariable set("2");
  torch::set_num_threads(2);
  apply(ProcessSettings{.local_ranks = 64});
  CHECK(torch::get_num_threads() == 2);
}
