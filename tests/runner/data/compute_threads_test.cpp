#include "runner/data/compute_threads.hpp"

#include <ATen/Parallel.h>

#include <catch2/catch_all.hpp>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace runner;

namespace {

struct ComputeThreads {
  explicit ComputeThreads(int count) { at::set_num_threads(count); }
  ~ComputeThreads() { at::set_num_threads(before); }
  int before = at::get_num_threads();
};

}  // namespace

TEST_CASE("compute_threads: every number once, on as many threads as LibTorch has") {
  const int threads = GENERATE(1, 3);
  const ComputeThreads computing(threads);
  const std::int64_t count = GENERATE(1, 7, 64, 1000);
  std::vector<int> seen(static_cast<std::size_t>(count));
  std::set<std::thread::id> who;
  std::mutex mutex;
  on_compute_threads(count, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    const std::lock_guard lock(mutex);
    who.insert(std::this_thread::get_id());
  });
  CHECK(seen == std::vector<int>(static_cast<std::size_t>(count), 1));
  CHECK(who.size() == static_cast<std::size_t>(count < 8 ? 1 : threads));
}

TEST_CASE("compute_threads: an error on another thread is thrown here") {
  const ComputeThreads computing(2);
  CHECK_THROWS_WITH(on_compute_threads(100, 1,
                                       [](std::int64_t, std::int64_t end) {
                                         if (end == 100) throw std::runtime_error("the last is broken");
                                       }),
                    "the last is broken");
}
