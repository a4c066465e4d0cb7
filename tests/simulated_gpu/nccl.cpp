// NCCL between simulated GPUs: what ranks exchange goes over Gloo, from the memory of the device, at times of
// a stream of its own. As with NCCL, nothing may touch a tensor before wait() has made the current stream
// wait for that stream.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "counts.hpp"
#include "graph.hpp"
#include "memory.hpp"
#include "runner/ranks/nccl.hpp"
#include "tensors.hpp"

namespace simulated_gpu {

namespace {

using at::Tensor;
using c10d::Work;
using WorkPointer = c10::intrusive_ptr<Work>;

class DeviceWork final : public Work {
 public:
  DeviceWork(WorkPointer exchange, int device, const Times& done, std::vector<Tensor> tensors)
      : exchange_(std::move(exchange)), device_(device), done_(done), tensors_(std::move(tensors)) {}

  bool isCompleted() override { return exchange_->isCompleted(); }
  bool isSuccess() const override { return exchange_->isSuccess(); }
  std::exception_ptr exception() const override { return exchange_->exception(); }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override {
    if (!exchange_->wait(timeout)) return false;
    const std::lock_guard lock(state());
    wait_for(current_stream(device_), done_);
    tensors_.clear();  // kept until here, as by NCCL
    return true;
  }

 private:
  WorkPointer exchange_;
  int device_;
  Times done_;
  std::vector<Tensor> tensors_;
};

class Nccl final : public c10d::Backend {
 public:
  explicit Nccl(const runner::NcclWish& wish)
      : Backend(wish.rank, wish.size),
        device_(wish.device),
        stream_(number_of(c10::impl::VirtualGuardImpl(c10::kCUDA)
                              .getStreamFromGlobalPool(
                                  c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(wish.device))))) {
    auto options = c10d::ProcessGroupGloo::Options::create(wish.timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("nccl", wish.store), wish.rank, wish.size, options);
  }

  const std::string getBackendName() const override { return "nccl"; }

  WorkPointer broadcast(std::vector<Tensor>& tensors, const c10d::BroadcastOptions& options) override {
    const bool sends = options.rootRank == getRank();
    return exchange(
        "nccl broadcast", sends ? tensors : none_, sends ? none_ : tensors,
        [&](auto&, auto&) { return gloo_->broadcast(views_, options); }, tensors);
  }
  WorkPointer allreduce(std::vector<Tensor>& tensors, const c10d::AllreduceOptions& options) override {
    return exchange(
        "nccl all_reduce", none_, tensors, [&](auto&, auto&) { return gloo_->allreduce(views_, options); },
        tensors);
  }
  WorkPointer reduce(std::vector<Tensor>& tensors, const c10d::ReduceOptions& options) override {
    return exchange(
        "nccl reduce", none_, tensors, [&](auto&, auto&) { return gloo_->reduce(views_, options); }, tensors);
  }
  WorkPointer _allgather_base(Tensor& all, Tensor& part, const c10d::AllgatherOptions& options) override {
    return exchange("nccl all_gather", {part}, {all},
                    [&](Tensor& from, Tensor& to) { return gloo_->_allgather_base(to, from, options); }, {});
  }
  WorkPointer _reduce_scatter_base(Tensor& part, Tensor& all,
                                   const c10d::ReduceScatterOptions& options) override {
    return exchange("nccl reduce_scatter", {all}, {part},
                    [&](Tensor& from, Tensor& to) { return gloo_->_reduce_scatter_base(to, from, options); },
                    {});
  }
  WorkPointer send(std::vector<Tensor>& tensors, int to, int tag) override {
    return exchange(
        "nccl send", tensors, none_, [&](auto&, auto&) { return gloo_->send(views_, to, tag); }, tensors);
  }
  WorkPointer recv(std::vector<Tensor>& tensors, int from, int tag) override {
    return exchange(
        "nccl recv", none_, tensors, [&](auto&, auto&) { return gloo_->recv(views_, from, tag); }, tensors);
  }

 private:
  template <class Start>
  WorkPointer exchange(const char* name, const std::vector<Tensor>& read, const std::vector<Tensor>& written,
                       const Start& start, const std::vector<Tensor>& listed) {
    refuse_while_capturing(name);
    std::vector<Tensor> all = read;
    all.insert(all.end(), written.begin(), written.end());
    for (const Tensor& tensor : all) {
      if (!tensor.is_cuda() || tensor.get_device() != device_)
        fault(std::string(name) + ": the tensor is on " + tensor.device().str() +
              ", but this rank's GPU is cuda:" + std::to_string(device_));
      TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
    }
    Times done;
    {
      const std::lock_guard lock(state());
      ++counts().operators;
      wait_for(stream_, times_of(current_stream(device_)));
      const Moment now = launch(stream_);
      for (const Tensor& tensor : read) use(tensor, now, false, name);
      for (const Tensor& tensor : written) use(tensor, now, true, name);
      done = times_of(stream_);
    }
    views_.clear();
    for (const Tensor& tensor : listed) views_.push_back(host_view(tensor));
    Tensor from = read.empty() ? Tensor() : host_view(read.front());
    Tensor to = written.empty() ? Tensor() : host_view(written.front());
    return c10::make_intrusive<DeviceWork>(start(from, to), device_, done, std::move(all));
  }

  const std::vector<Tensor> none_;
  int device_, stream_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::vector<Tensor> views_;  // of the call that is under way
};

}  // namespace

}  // namespace simulated_gpu

extern "C" __attribute__((visibility("default"))) c10d::Backend* runner_make_nccl_group(
    const runner::NcclWish& wish) {
  c10::impl::VirtualGuardImpl(c10::kCUDA)
      .setDevice(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(wish.device)));
  return c10::make_intrusive<simulated_gpu::Nccl>(wish).release();
}
static_assert(std::is_same_v<decltype(&runner_make_nccl_group), runner::MakeNcclGroup>);
