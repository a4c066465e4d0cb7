#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <string>

namespace runner {

// NCCL is used for communication between GPUs. It is loaded through librunner_cuda.so.
struct NcclWish {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0, size = 1;
  int device = 0;  // this rank's GPU
  std::chrono::milliseconds timeout{};
};

// Throws std::runtime_error if the library or NCCL is missing.
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const NcclWish& wish);
// Why NCCL cannot be used; empty: it can.
std::string nccl_problem();
// "2.30.7"; empty if NCCL is not loaded.
std::string nccl_version();

// The function that the library exports, and its name.
using MakeNcclGroup = c10d::Backend* (*)(const NcclWish&);
constexpr auto make_nccl_group_symbol = "runner_make_nccl_group";

}  // namespace runner
