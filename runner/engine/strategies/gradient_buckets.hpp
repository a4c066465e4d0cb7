#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/engine/world.hpp"

namespace runner {

struct BucketOptions {
  std::int64_t bytes = std::int64_t{25} << 20;       // of gradients that are sent together
  std::int64_t first_bytes = std::int64_t{1} << 20;  // of the first bucket, which is sent early
  std::optional<torch::ScalarType> wire = {};        // the number format for sending; none: their own
  std::vector<int> owners = {};  // for each parameter the rank that gets the sum; empty: every rank does
};

// Sums the gradients of all ranks while backward is still running: parameters are grouped in the order in
// which backward finishes them, and a full bucket is sent at once. All ranks send the buckets in the same
// order, whatever each rank computes. A bucket also says which gradients the rank has: a parameter that no
// rank used gets no gradient, as with one rank.
class GradientBuckets {
 public:
  GradientBuckets(World& world, std::vector<torch::Tensor> parameters, const BucketOptions& options);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // The next backward is the last one before finish(): the gradients it completes are sent.
  void begin_last_backward() { sending_ = true; }
  bool under_way() const { return sending_; }  // from then until finish()

  // Numbers that the last bucket carries in addition to its gradients, so that they cost no exchange of their
  // own. Call send_along() before finish() and take_sums_along() after it, which returns the sums over the
  // ranks. All ranks must send equally many numbers, or none.
  static constexpr std::int64_t room = 128;
  bool carries(std::int64_t numbers) const;
  void send_along(const torch::Tensor& numbers) { along_ = numbers; }
  torch::Tensor take_sums_along() { return std::exchange(along_, {}); }

  // Every gradient becomes the sum over the ranks, even if this rank has computed none. Gradients of
  // parameters that another rank owns are freed.
  void finish();

  std::int64_t bytes_sent() const { return bytes_sent_; }  // by each rank so far

  // The peak memory of gradients. `summed_before`: micro-batches before the last one have left gradients.
  std::int64_t most_bytes(bool summed_before) const;

 private:
  struct Bucket;
  class Hook;

  // With owners: at most this many buckets are in flight, so that gradients of other ranks are freed soon.
  static constexpr std::size_t on_their_way = 3;

  void add_bucket(std::vector<std::size_t> members);
  void allocate(Bucket& bucket) const;
  std::int64_t numbers_along(const Bucket& bucket) const;
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
  torch::Tensor along_;                                      // undefined if nothing is sent along
  std::size_t next_ = 0;                                     // next bucket to send
  std::size_t arriving_ = 0;                                 // next bucket to receive
  bool sending_ = false;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace runner
