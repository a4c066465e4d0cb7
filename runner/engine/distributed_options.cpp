#include "runner/engine/distributed_options.hpp"

#include <bit>
#include <string>

#include "registry/base/log.hpp"
#include "registry/diagnostics.hpp"

namespace runner {

void check(const DistributedOptions& distributed, Report& report) {
  const DistributedOptions defaults;
  constexpr double shortest = 0.001, longest = 1e9;  // milliseconds are counted, of which clocks hold so many
  if (distributed.timeout.amount < shortest || distributed.timeout.amount > longest)
    report.error("timeout", "must be from a millisecond to a billion seconds, such as \"10min\"");
  if (distributed.reproducible) {
    if (distributed.strategy != RankStrategy::ddp)
      report.error("reproducible", "works only with strategy = \"ddp\"");
    if (distributed.compression != Compression::none)
      report.error("compression",
                   "rounds gradients, which \"reproducible\" has to keep exact: delete one of the two");
    if (!std::has_single_bit(static_cast<std::uint64_t>(distributed.shards)))
      report.error("shards", "must be a power of two, such as 8");
    if (distributed.bucket_size.bytes != defaults.bucket_size.bytes)
      report.error("bucket_size", "has no effect with reproducible = true, which uses no buckets: delete it");
  } else if (distributed.shards != defaults.shards) {
    report.error("shards", "applies only with reproducible = true");
  }
  const auto only_with = [&](bool there, bool changed, const char* key, const char* what) {
    if (changed && !there) report.error(key, std::string("applies only with ") + what);
  };
  const bool zero3 = distributed.strategy == RankStrategy::zero3;
  only_with(distributed.compression == Compression::powersgd,
            distributed.powersgd_rank != defaults.powersgd_rank, "powersgd_rank",
            "compression = \"powersgd\"");
  only_with(distributed.strategy == RankStrategy::local_sgd,
            distributed.average_every != defaults.average_every, "average_every", "strategy = \"local_sgd\"");
  only_with(zero3, distributed.unit_size.bytes != defaults.unit_size.bytes, "unit_size",
            "strategy = \"zero3\"");
  only_with(zero3, distributed.reshard_after_forward != defaults.reshard_after_forward,
            "reshard_after_forward", "strategy = \"zero3\"");
  only_with(zero3, distributed.prefetch != defaults.prefetch, "prefetch", "strategy = \"zero3\"");
  only_with(zero3, distributed.shard_group != defaults.shard_group, "shard_group", "strategy = \"zero3\"");
  only_with(zero3, distributed.gather != defaults.gather, "gather", "strategy = \"zero3\"");
  only_with(zero3, distributed.offload != defaults.offload, "offload", "strategy = \"zero3\"");
  only_with(distributed.offload == Offload::disk, distributed.offload_dir.has_value(), "offload_dir",
            "offload = \"disk\"");
  if (zero3 && distributed.bucket_size.bytes != defaults.bucket_size.bytes)
    report.error("bucket_size",
                 "has no effect with strategy = \"zero3\", which exchanges units: use unit_size");
  const bool parts_of_gradients = distributed.strategy == RankStrategy::zero2 || zero3;
  if (distributed.compression == Compression::powersgd && parts_of_gradients)
    report.error("compression",
                 "= \"powersgd\" needs all gradients on all ranks: it works only with strategy = \"ddp\" or "
                 "\"zero1\"");
  if (distributed.compression != Compression::none && distributed.strategy == RankStrategy::local_sgd)
    report.error("compression",
                 "is for gradients, which are not sent with strategy = \"local_sgd\": delete it");
  if (distributed.sync_batch_norm && distributed.reproducible)
    report.error("sync_batch_norm",
                 "does not work with \"reproducible\", where every shard has its own statistics");
  if (distributed.sync_batch_norm && (zero3 || distributed.strategy == RankStrategy::local_sgd))
    report.error("sync_batch_norm", "works only with strategy = \"ddp\", \"zero1\" or \"zero2\"");
  if (distributed.bucket_size.bytes < 1024)
    report.error("bucket_size", "is too small: at least 1KiB, such as \"25MiB\"");
}

void check_ranks(const DistributedOptions& distributed, int ranks, Report& report) {
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks));
  if (distributed.reproducible && !(power_of_two && ranks <= distributed.shards))
    report.error("reproducible",
                 log::format("= true needs a power of two of ranks, at most as many as there are \"shards\" "
                             "({}): there are {} ranks",
                             distributed.shards, ranks));
  if (ranks > 1 && distributed.shard_group > 0 && ranks % distributed.shard_group != 0)
    report.error("shard_group", log::format("= {} must divide the number of ranks, which is {}",
                                            distributed.shard_group, ranks));
}

}  // namespace runner
