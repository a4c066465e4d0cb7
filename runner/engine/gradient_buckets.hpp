#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/engine/world.hpp"

namespace runner {

struct BucketOptions {
  std::int64_t bytes = std::int64_t{25} << 20;       // gradients that travel together
  std::int64_t first_bytes = std::int64_t{1} << 20;  // of the first bucket: it is to set out early
  std::optional<torch::ScalarType> wire = {};  // the number format on the wire, where it is not their own
  std::vector<int> owners = {};  // of each parameter, the rank that gets the sum; none: every rank does
};

// Sums the gradients of all ranks while backward is still under way: parameters are grouped in the order in
// which backward finishes them, and a full bucket sets out at once. Buckets set out in the same order on all
// ranks, whatever each rank computes. Beside the gradients a bucket carries which of them the rank has: a
// parameter that no rank used keeps no gradient, as if there were one rank.
class GradientBuckets {
 public:
  GradientBuckets(World& world, std::vector<torch::Tensor> parameters, const BucketOptions& options);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // The next backward is the last one before finish(): gradients it completes set out.
  void begin_last_backward() { sending_ = true; }
  bool under_way() const { return sending_; }  // from then until finish()

  // Every gradient becomes the sum over the ranks; also where this rank has computed none. Where another rank
  // owns it, it is gone.
  void finish();

  std::int64_t bytes_sent() const { return bytes_sent_; }  // by each rank, in all finish() so far

  // The most memory that gradients take at any time: `summed_before`, in micro-batches before the last one.
  std::int64_t most_bytes(bool summed_before) const;

 private:
  struct Bucket;
  class Hook;

  // With owners: most buckets at once, so that gradients of others take no memory for long.
  static constexpr std::size_t on_their_way = 3;

  void add_bucket(std::vector<std::size_t> members);
  void allocate(Bucket& bucket) const;
  void completed(std::size_t parameter);
  void take(Bucket& bucket, std::size_t member);
  void send_full_buckets();
  void receive_old_buckets();
  void send(Bucket& bucket);
  void receive(Bucket& bucket);

  World& world_;
  std::vector<torch::Tensor> parameters_;
  const BucketOptions options_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of each parameter: bucket and member
  std::size_t next_ = 0;                                     // bucket to set out
  std::size_t arriving_ = 0;                                 // bucket to arrive next
  bool sending_ = false;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace runner
