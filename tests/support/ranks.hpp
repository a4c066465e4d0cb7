#pragma once

#include <ATen/Parallel.h>
#include <c10/util/intrusive_ptr.h>

#include <catch2/catch_all.hpp>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runner/ranks/process_group_world.hpp"
#include "runner/ranks/store_client.hpp"
#include "runner/ranks/store_server.hpp"

namespace runner::testing {

constexpr auto run_secret = "the secret of the tests";

// For the thread of a rank: Catch's own macros are for one thread.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("does not hold: " + what);
}

inline StoreServer::Limits few_strangers() {
  StoreServer::Limits limits;
  limits.strangers = 8;
  limits.proof_within = std::chrono::milliseconds(300);
  return limits;
}

// The ranks of a world as threads of the test: the real store, the real process group, on loopback.
// Returns what each threw.
inline std::vector<std::exception_ptr> try_on_ranks(int count, const std::function<void(World&)>& work,
                                                    GroupOptions options = {}) {
  if (options.timeout == GroupOptions().timeout) options.timeout = std::chrono::seconds(30);
  at::set_num_threads(1);  // for each rank: sums and memory then do not depend on the machine
  const StoreServer server(listen_on({"127.0.0.1", 0}), run_secret);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          ProcessGroupWorld world(c10::make_intrusive<StoreClient>(Address{"127.0.0.1", server.port()},
                                                                   run_secret, options.timeout),
                                  {rank, count, rank, count, "here"}, options);
          try {
            work(world);
          } catch (const std::exception& error) {
            world.failed(error);
            throw;
          }
          world.barrier("the end of the test");
        } catch (...) {
          errors[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  return errors;
}

inline void on_ranks(int count, const std::function<void(World&)>& work, const GroupOptions& options = {}) {
  for (const std::exception_ptr& error : try_on_ranks(count, work, options))
    if (error) std::rethrow_exception(error);
  SUCCEED("no rank objected");  // their checks throw on threads of their own
}

inline std::string message_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  }
}

}  // namespace runner::testing
