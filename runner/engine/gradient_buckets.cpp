#include "runner/engine/gradient_buckets.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

namespace runner {

struct GradientBuckets::Bucket {
  std::vector<std::size_t> members;  // parameters
  torch::Tensor flat;                // all gradients, then a 1 for each that this rank has
  torch::Tensor present;             // that end of it
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
    : world_(world), parameters_(std::move(parameters)), wire_(options.wire), places_(parameters_.size()) {
  std::vector<std::size_t> members;
  std::int64_t bytes = 0;
  // Backward finishes them in about the opposite order of forward.
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const torch::Tensor& parameter = parameters_[i];
    const bool other_kind = !members.empty() && (parameters_[members[0]].dtype() != parameter.dtype() ||
                                                 parameters_[members[0]].device() != parameter.device());
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
  std::int64_t elements = 0;
  for (const std::size_t member : members) elements += parameters_[member].numel();
  const auto count = static_cast<std::int64_t>(members.size());
  bucket->flat = torch::zeros(elements + count, parameters_[members[0]].options().requires_grad(false));
  bucket->present = bucket->flat.narrow(0, elements, count);
  std::int64_t offset = 0;
  for (const std::size_t member : members) {
    const torch::Tensor& parameter = parameters_[member];
    const bool dense = parameter.is_non_overlapping_and_dense();  // keeps channels_last as it is
    bucket->views.push_back(dense
                                ? bucket->flat.as_strided(parameter.sizes(), parameter.strides(), offset)
                                : bucket->flat.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    places_[member] = {buckets_.size(), bucket->views.size() - 1};
    offset += parameter.numel();
  }
  bucket->taken.resize(members.size());
  bucket->members = std::move(members);
  buckets_.push_back(std::move(bucket));
}

void GradientBuckets::completed(std::size_t parameter) {
  if (!sending_) return;
  const auto [bucket, member] = places_[parameter];
  if (!buckets_[bucket]->taken[member]) take(*buckets_[bucket], member);
  send_full_buckets();
}

void GradientBuckets::take(Bucket& bucket, std::size_t member) {
  torch::Tensor& gradient = parameters_[bucket.members[member]].mutable_grad();
  if (!gradient.defined()) return;
  const torch::NoGradGuard no_grad;
  bucket.views[member].copy_(gradient);
  gradient = bucket.views[member];  // its own memory is free for the rest of backward
  bucket.taken[member] = true;
  ++bucket.count_taken;
}

void GradientBuckets::send_full_buckets() {
  while (next_ < buckets_.size() && buckets_[next_]->count_taken == buckets_[next_]->members.size())
    send(*buckets_[next_++]);
}

void GradientBuckets::send(Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  bucket.present.fill_(1);
  for (std::size_t i = 0; i < bucket.members.size(); ++i) {
    if (bucket.taken[i]) continue;
    bucket.views[i].zero_();
    bucket.present[static_cast<std::int64_t>(i)].zero_();
  }
  bucket.on_wire = wire_ ? bucket.flat.to(*wire_) : bucket.flat;
  bytes_sent_ += static_cast<std::int64_t>(bucket.on_wire.nbytes());
  bucket.work = world_.begin_all_reduce(bucket.on_wire, Reduction::sum, "the gradients");
}

void GradientBuckets::receive(Bucket& bucket) {
  bucket.work.wait();
  const torch::NoGradGuard no_grad;
  if (wire_) bucket.flat.copy_(bucket.on_wire);
  bucket.on_wire.reset();
  // Who has all of them need not ask which the others had.
  const bool complete = bucket.count_taken == bucket.members.size();
  const torch::Tensor present = complete ? torch::Tensor() : bucket.present.to(torch::kCPU, torch::kDouble);
  for (std::size_t i = 0; i < bucket.members.size(); ++i) {
    const bool anywhere = complete || present.data_ptr<double>()[i] > 0;
    parameters_[bucket.members[i]].mutable_grad() = anywhere ? bucket.views[i] : torch::Tensor();
  }
  std::fill(bucket.taken.begin(), bucket.taken.end(), false);
  bucket.count_taken = 0;
}

void GradientBuckets::finish() {
  sending_ = false;
  for (; next_ < buckets_.size(); ++next_) {
    Bucket& bucket = *buckets_[next_];
    for (std::size_t i = 0; i < bucket.members.size(); ++i)
      if (!bucket.taken[i]) take(bucket, i);
    send(bucket);
  }
  for (const auto& bucket : buckets_) receive(*bucket);
  next_ = 0;
}

}  // namespace runner
