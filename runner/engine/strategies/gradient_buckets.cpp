#include "runner/engine/strategies/gradient_buckets.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace runner {

struct GradientBuckets::Bucket {
  std::vector<std::size_t> members;  // parameters
  std::optional<int> owner;          // the rank that gets the sums; none: every rank does
  torch::Tensor flat;                // all gradients, a 1 or 0 for each (this rank has it or not), `along`
  torch::Tensor present;             // view of flat: those ones and zeros
  torch::Tensor along;               // view of flat: room for other numbers; only in the last bucket
  std::vector<torch::Tensor> views;  // of flat, shaped as the parameters
  std::vector<bool> taken;
  std::size_t count_taken = 0;
  torch::Tensor on_wire;
  Work work;
};

class GradientBuckets::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientBuckets& buckets, std::size_t parameter) : buckets_(buckets), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { buckets_.completed(parameter_); }

 private:
  GradientBuckets& buckets_;
  const std::size_t parameter_;
};

GradientBuckets::GradientBuckets(World& world, std::vector<torch::Tensor> parameters,
                                 const BucketOptions& options)
    : world_(world), parameters_(std::move(parameters)), options_(options), places_(parameters_.size()) {
  const auto owner = [&](std::size_t i) { return options_.owners.empty() ? -1 : options_.owners[i]; };
  std::vector<std::size_t> members;
  std::int64_t bytes = 0;
  // Backward finishes gradients in roughly the reverse order of forward.
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const torch::Tensor& parameter = parameters_[i];
    const bool other_kind = !members.empty() && (parameters_[members[0]].dtype() != parameter.dtype() ||
                                                 parameters_[members[0]].device() != parameter.device() ||
                                                 owner(members[0]) != owner(i));
    if (!members.empty() &&
        (other_kind || bytes >= (buckets_.empty() ? options.first_bytes : options.bytes))) {
      add_bucket(std::exchange(members, {}));
      bytes = 0;
    }
    members.push_back(i);
    bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  if (!members.empty()) add_bucket(std::move(members));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<Hook>(*this, i));
}

GradientBuckets::~GradientBuckets() {
  for (torch::Tensor& parameter : parameters_)
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientBuckets::add_bucket(std::vector<std::size_t> members) {
  auto bucket = std::make_unique<Bucket>();
  for (std::size_t i = 0; i < members.size(); ++i) places_[members[i]] = {buckets_.size(), i};
  if (!options_.owners.empty()) bucket->owner = options_.owners[members[0]];
  bucket->taken.resize(members.size());
  bucket->members = std::move(members);
  buckets_.push_back(std::move(bucket));
}

// Only if every rank gets the sums, in a number format that is precise enough.
bool GradientBuckets::carries(std::int64_t numbers) const {
  if (buckets_.empty() || !options_.owners.empty() || options_.wire || numbers > room) return false;
  const auto type = parameters_[buckets_.back()->members[0]].scalar_type();
  return type == torch::kFloat32 || type == torch::kFloat64;
}

void GradientBuckets::allocate(Bucket& bucket) const {
  if (bucket.flat.defined()) return;
  std::int64_t elements = 0;
  for (const std::size_t member : bucket.members) elements += parameters_[member].numel();
  const auto count = static_cast<std::int64_t>(bucket.members.size());
  const std::int64_t others = &bucket == buckets_.back().get() && carries(0) ? room : 0;
  bucket.flat =
      torch::empty(elements + count + others, parameters_[bucket.members[0]].options().requires_grad(false));
  bucket.present = bucket.flat.narrow(0, elements, count);
  bucket.along = bucket.flat.narrow(0, elements + count, others);
  bucket.views.clear();
  std::int64_t offset = 0;
  for (const std::size_t member : bucket.members) {
    const torch::Tensor& parameter = parameters_[member];
    const bool dense = parameter.is_non_overlapping_and_dense();  // then channels_last is kept
    bucket.views.push_back(dense ? bucket.flat.as_strided(parameter.sizes(), parameter.strides(), offset)
                                 : bucket.flat.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    offset += parameter.numel();
  }
}

std::int64_t GradientBuckets::numbers_along(const Bucket& bucket) const {
  return along_.defined() && bucket.along.numel() > 0 ? along_.numel() : 0;
}

void GradientBuckets::completed(std::size_t parameter) {
  if (!sending_) return;
  const auto [bucket, member] = places_[parameter];
  if (bucket < next_)
    throw std::runtime_error(
        "A parameter got a second gradient in one backward pass, after its first one had been sent to the "
        "other ranks: a backward pass runs inside another one. Set train.on_out_of_memory = \"split\", with "
        "which gradients are sent when all are complete.");
  take(*buckets_[bucket], member);
  send_full_buckets();
}

void GradientBuckets::take(Bucket& bucket, std::size_t member) {
  torch::Tensor& gradient = parameters_[bucket.members[member]].mutable_grad();
  if (!gradient.defined()) return;
  const torch::NoGradGuard no_grad;
  allocate(bucket);
  // Completed a second time, by a backward pass inside the backward pass: usually added in place.
  if (bucket.taken[member] && gradient.is_alias_of(bucket.flat)) return;
  bucket.views[member].copy_(gradient.layout() == torch::kStrided ? gradient : gradient.to_dense());
  gradient = bucket.views[member];  // frees its own memory for the rest of backward
  if (!bucket.taken[member]) ++bucket.count_taken;
  bucket.taken[member] = true;
}

void GradientBuckets::send_full_buckets() {
  while (next_ < buckets_.size() && buckets_[next_]->count_taken == buckets_[next_]->members.size()) {
    send(*buckets_[next_++]);
    receive_old_buckets();
  }
}

void GradientBuckets::receive_old_buckets() {
  if (options_.owners.empty()) return;
  while (arriving_ + on_their_way <= next_) receive(*buckets_[arriving_++]);
}

void GradientBuckets::send(Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  allocate(bucket);
  bucket.present.fill_(1);
  for (std::size_t i = 0; i < bucket.members.size(); ++i) {
    if (bucket.taken[i]) continue;
    bucket.views[i].zero_();
    bucket.present[static_cast<std::int64_t>(i)].zero_();
  }
  const std::int64_t others = numbers_along(bucket);
  if (others > 0) bucket.along.narrow(0, 0, others).copy_(along_);
  bucket.on_wire = bucket.flat.narrow(0, 0, bucket.flat.numel() - bucket.along.numel() + others);
  if (options_.wire) bucket.on_wire = bucket.on_wire.to(*options_.wire);
  bytes_sent_ += static_cast<std::int64_t>(bucket.on_wire.nbytes());
  bucket.work = bucket.owner ? world_.begin_reduce(bucket.on_wire, *bucket.owner, "the gradients")
                             : world_.begin_all_reduce(bucket.on_wire, Reduction::sum, "the gradients");
}

void GradientBuckets::receive(Bucket& bucket) {
  bucket.work.wait();
  const torch::NoGradGuard no_grad;
  if (options_.wire) bucket.flat.copy_(bucket.on_wire);
  bucket.on_wire.reset();
  if (const std::int64_t others = numbers_along(bucket); others > 0)
    along_ = bucket.along.narrow(0, 0, others).to(torch::kFloat64, false, /*copy=*/true);
  const bool ours = !bucket.owner || *bucket.owner == world_.rank();
  // If this rank has all of them, `present` need not be read, which would wait for the device.
  const bool complete = bucket.count_taken == bucket.members.size();
  const torch::Tensor present = complete ? torch::Tensor() : bucket.present.to(torch::kCPU, torch::kDouble);
  for (std::size_t i = 0; i < bucket.members.size(); ++i) {
    const bool anywhere = complete || present.data_ptr<double>()[i] > 0;
    parameters_[bucket.members[i]].mutable_grad() = ours && anywhere ? bucket.views[i] : torch::Tensor();
  }
  if (bucket.owner) {  // to save memory; the gradients that this rank keeps are views and keep theirs
    bucket.views.clear();
    bucket.present.reset();
    bucket.along.reset();
    bucket.flat.reset();
  }
  std::fill(bucket.taken.begin(), bucket.taken.end(), false);
  bucket.count_taken = 0;
}

std::int64_t GradientBuckets::most_bytes(bool summed_before) const {
  std::vector<std::int64_t> bytes;
  for (const auto& bucket : buckets_) {
    auto elements = static_cast<std::int64_t>(bucket->members.size());
    for (const std::size_t member : bucket->members) elements += parameters_[member].numel();
    bytes.push_back(elements * static_cast<std::int64_t>(parameters_[bucket->members[0]].element_size()));
  }
  const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  if (options_.owners.empty()) return summed_before ? 2 * all : all;  // buckets stay from window to window
  std::int64_t most = 0, kept = 0, under_way = 0, to_come = summed_before ? all : 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    under_way += bytes[i];
    if (i >= on_their_way) {
      const std::size_t arrived = i - on_their_way;
      under_way -= bytes[arrived];
      if (buckets_[arrived]->owner == world_.rank()) kept += bytes[arrived];
    }
    most = std::max(most, kept + under_way + to_come);
    if (summed_before) to_come -= bytes[i];
  }
  return most;
}

void GradientBuckets::finish() {
  sending_ = false;
  for (; next_ < buckets_.size(); ++next_) {
    Bucket& bucket = *buckets_[next_];
    for (std::size_t i = 0; i < bucket.members.size(); ++i)
      if (!bucket.taken[i]) take(bucket, i);
    send(bucket);
  }
  for (; arriving_ < buckets_.size(); ++arriving_) receive(*buckets_[arriving_]);
  arriving_ = next_ = 0;
}

}  // namespace runner
