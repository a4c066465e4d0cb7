#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <string>

namespace runner {

// NCCL carries what ranks exchange between GPUs. It is reached through librunner_cuda.so.
struct NcclWish {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0, size = 1;
  int device = 0;  // this rank's GPU
  std::chrono::milliseconds timeout{};
};

// Throws std::runtime_error where the library, or NCCL, is not there.
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const NcclWish& wish);
// Why ranks cannot exchange between GPUs; empty: they can.
std::string nccl_problem();
// "2.30.7"; empty where LibTorch has brought none.
std::string nccl_version();

// What the library exports under this name.
using MakeNcclGroup = c10d::Backend* (*)(const NcclWish&);
constexpr auto make_nccl_group_symbol = "runner_make_nccl_group";

}  // namespace runner
