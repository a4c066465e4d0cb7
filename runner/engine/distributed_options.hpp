#pragma once

#include "registry/byte_size.hpp"
#include "registry/duration.hpp"
#include "registry/field.hpp"

namespace runner {

// How several ranks train one model together. With one rank none of it matters.

enum class RankStrategy { ddp, zero1, zero2 };
constexpr auto describe(std::type_identity<RankStrategy>) {
  return choices(
      choice("ddp", RankStrategy::ddp, "every rank has all weights; gradients are summed during backward"),
      choice("zero1", RankStrategy::zero1,
             "as ddp, but each rank keeps the optimizer state of its part only"),
      choice("zero2", RankStrategy::zero2, "as zero1, and each rank keeps the gradients of its part only"));
}

enum class BatchOf { rank, global };
constexpr auto describe(std::type_identity<BatchOf>) {
  return choices(
      choice("rank", BatchOf::rank, "each rank takes so many: more ranks, larger batches"),
      choice("global", BatchOf::global, "all ranks together: the same training on any number of ranks"));
}

enum class Compression { none, fp16, bf16 };
constexpr auto describe(std::type_identity<Compression>) {
  return choices(choice("none", Compression::none, "gradients travel as they are"),
                 choice("fp16", Compression::fp16, "half the bytes; small gradients may vanish"),
                 choice("bf16", Compression::bf16, "half the bytes, full range, eight bits of precision"));
}

struct DistributedSection {
  RankStrategy strategy = RankStrategy::ddp;
  BatchOf batch = BatchOf::rank;
  bool reproducible = false;
  std::int64_t shards = 8;
  Duration timeout = seconds(600);
  ByteSize bucket_size = {std::uint64_t{25} << 20};
  Compression compression = Compression::none;
  bool check_collectives = false;
};
constexpr auto describe(std::type_identity<DistributedSection>) {
  return fields(
      field("strategy", &DistributedSection::strategy, "What each rank keeps, and what ranks exchange."),
      field("batch", &DistributedSection::batch, "What loader.batch_size counts."),
      field(
          "reproducible", &DistributedSection::reproducible,
          "The same bits on any power of two of ranks, at the cost of smaller matrices and slower exchange."),
      field("shards", &DistributedSection::shards,
            "Parts that a batch is cut into where it is reproducible: the most ranks there can be.",
            within(1, 1024)),
      field("timeout", &DistributedSection::timeout,
            "How long a rank waits for another before the run fails and names it.", in_units({"s"}),
            above(0)),
      field("bucket_size", &DistributedSection::bucket_size,
            "Gradients that travel together: small buckets set out earlier, large ones travel faster."),
      field("compression", &DistributedSection::compression, "The number format of gradients on their way."),
      field(
          "check_collectives", &DistributedSection::check_collectives,
          "Compare every exchange across ranks and name the rank that differs: slow, for finding mistakes."));
}
void check(const DistributedSection& distributed, class Report& report);

}  // namespace runner
