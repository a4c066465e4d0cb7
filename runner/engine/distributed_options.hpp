#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "registry/base/byte_size.hpp"
#include "registry/base/duration.hpp"
#include "registry/field.hpp"

namespace runner {

// How several ranks train one model together. Has no effect with a single rank.

enum class RankStrategy { ddp, zero1, zero2, zero3, local_sgd };
constexpr auto describe(std::type_identity<RankStrategy>) {
  return choices(
      choice("ddp", RankStrategy::ddp,
             "every rank has all weights; gradients are summed over the ranks during backward"),
      choice("zero1", RankStrategy::zero1,
             "as ddp, but each rank keeps only its part of the optimizer state"),
      choice("zero2", RankStrategy::zero2, "as zero1, and each rank keeps only its part of the gradients"),
      choice(
          "zero3", RankStrategy::zero3,
          "as zero2, and each rank keeps only its part of the weights; the others are gathered when needed"),
      choice("fsdp", RankStrategy::zero3, "another name of zero3"),
      choice("local_sgd", RankStrategy::local_sgd,
             "every rank trains on its own, and weights are averaged every average_every steps"));
}

enum class BatchOf { rank, global };
constexpr auto describe(std::type_identity<BatchOf>) {
  return choices(choice("rank", BatchOf::rank, "the examples of each rank: more ranks, larger batches"),
                 choice("global", BatchOf::global,
                        "the examples of all ranks together: the same training on any number of ranks"));
}

enum class Compression { none, fp16, bf16, powersgd };
constexpr auto describe(std::type_identity<Compression>) {
  return choices(
      choice("none", Compression::none, "gradients are sent as they are"),
      choice("fp16", Compression::fp16, "half the bytes; small gradients may vanish"),
      choice("bf16", Compression::bf16, "half the bytes, the range of fp32, eight bits of precision"),
      choice("powersgd", Compression::powersgd,
             "matrices of low rank; the error is added to the next gradient"));
}

enum class GatherAs { automatic, full, compute };
constexpr auto describe(std::type_identity<GatherAs>) {
  return choices(
      choice("auto", GatherAs::automatic, "as \"compute\" with bf16 and fp16, otherwise as \"full\""),
      choice("full", GatherAs::full, "in the precision of the weights"),
      choice("compute", GatherAs::compute,
             "weights that autocast casts, in bf16 or fp16: half the bytes and half the memory"));
}

enum class Offload { none, cpu, disk };
constexpr auto describe(std::type_identity<Offload>) {
  return choices(choice("none", Offload::none, "on the device"),
                 choice("cpu", Offload::cpu, "in main memory; the optimizer runs on the CPU. For GPUs"),
                 choice("disk", Offload::disk,
                        "in temporary files, whose pages the system drops from memory when it needs to"));
}

enum class Backend { automatic, gloo, nccl };
constexpr auto describe(std::type_identity<Backend>) {
  return choices(choice("auto", Backend::automatic, "NCCL between GPUs, Gloo between CPUs"),
                 choice("gloo", Backend::gloo, "CPUs, over TCP"),
                 choice("nccl", Backend::nccl, "NVIDIA GPUs"));
}

struct DistributedOptions {
  RankStrategy strategy = RankStrategy::ddp;
  BatchOf batch = BatchOf::rank;
  bool reproducible = false;
  std::int64_t shards = 8;
  Duration timeout = seconds(600);
  ByteSize bucket_size = {std::uint64_t{25} << 20};
  Compression compression = Compression::none;
  std::int64_t powersgd_rank = 1;
  std::int64_t average_every = 8;
  ByteSize unit_size = {std::uint64_t{32} << 20};
  bool reshard_after_forward = true;
  bool prefetch = true;
  std::int64_t shard_group = 0;
  GatherAs gather = GatherAs::automatic;
  Offload offload = Offload::none;
  std::optional<std::filesystem::path> offload_dir = {};
  bool sync_batch_norm = false;
  Backend backend = Backend::automatic;
  bool check_collectives = false;
};
constexpr auto describe(std::type_identity<DistributedOptions>) {
  return fields(
      field("strategy", &DistributedOptions::strategy, "What each rank keeps, and what ranks exchange.",
            changes_course()),
      field("batch", &DistributedOptions::batch, "What loader.batch_size counts.", changes_course()),
      field(
          "reproducible", &DistributedOptions::reproducible,
          "Bit-identical results on any power-of-two number of ranks; slower, because each shard is computed "
          "separately.",
          changes_course()),
      field("shards", &DistributedOptions::shards,
            "With reproducible: the parts that a batch is divided into, and the largest number of ranks.",
            within(1, 1024), changes_course()),
      field("timeout", &DistributedOptions::timeout,
            "How long a rank waits for another before the run fails and names it.", in_units({"s"}), above(0),
            harmless()),
      field(
          "bucket_size", &DistributedOptions::bucket_size,
          "Size of the buckets in which gradients are reduced: small ones start earlier, large ones use the "
          "network better.",
          changes_course()),
      field("compression", &DistributedOptions::compression, "Compression of gradients before they are sent.",
            changes_course()),
      field("powersgd_rank", &DistributedOptions::powersgd_rank,
            "With powersgd: the rank of the matrices that are sent; higher is more exact.", within(1, 1024),
            fixed()),
      field("average_every", &DistributedOptions::average_every,
            "With local_sgd: steps between two averages of the weights.", within(1, 1'000'000),
            changes_course()),
      field("unit_size", &DistributedOptions::unit_size,
            "With zero3: size of the units in which weights are gathered; small ones need less memory.",
            changes_course()),
      field("reshard_after_forward", &DistributedOptions::reshard_after_forward,
            "With zero3: free gathered weights after the forward pass and gather them again for backward.",
            harmless()),
      field("prefetch", &DistributedOptions::prefetch,
            "With zero3: gather the next unit while the current one is in use.", harmless()),
      field("shard_group", &DistributedOptions::shard_group,
            "With zero3: number of neighbouring ranks that share one copy of the weights; 0: all ranks.",
            within(0, 65536), changes_course()),
      field("gather", &DistributedOptions::gather,
            "With zero3: the number format in which weights are gathered.", changes_course()),
      field("offload", &DistributedOptions::offload,
            "With zero3: where each rank keeps its part of the weights and of the optimizer state.",
            harmless()),
      field(
          "offload_dir", &DistributedOptions::offload_dir,
          "With offload = \"disk\": the folder of the temporary files, on a disk; default: TMPDIR, or /tmp.",
          harmless()),
      field("sync_batch_norm", &DistributedOptions::sync_batch_norm,
            "Compute batch-norm statistics over the batches of all ranks.", changes_course()),
      field("backend", &DistributedOptions::backend, "Communication backend.", changes_course()),
      field("check_collectives", &DistributedOptions::check_collectives,
            "Compare every collective call across ranks and name the rank that differs; slow, for debugging.",
            harmless()));
}
void check(const DistributedOptions& distributed, class Report& report);
// What the settings require of the number of ranks, which only a launcher knows.
void check_ranks(const DistributedOptions& distributed, int ranks, class Report& report);

inline std::chrono::milliseconds timeout_of(const DistributedOptions& distributed) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * distributed.timeout.amount));
}

}  // namespace runner
