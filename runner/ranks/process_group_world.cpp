#include "runner/ranks/process_group_world.hpp"

#include <torch/types.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "components/torch/torch_error.hpp"
#include "registry/base/log.hpp"
#include "runner/ranks/nccl.hpp"
#include "runner/ranks/sighting.hpp"

namespace runner {

namespace {

using c10::make_intrusive;

c10::intrusive_ptr<c10d::Backend> gloo(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                       const GroupOptions& options) {
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
  gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(options.own_address));
  return make_intrusive<c10d::ProcessGroupGloo>(make_intrusive<c10d::PrefixStore>("gloo", store->clone()),
                                                place.rank, place.size, gloo_options);
}

// Type and shape, which must be equal on both sides of an exchange.
std::string kind_of(const torch::Tensor& tensor) {
  return log::format("{} {}", tensor.dtype().name(), tensor.sizes());
}

// The same text for the rank that sends and the one that receives.
std::string transfer(int from, int to, const torch::Tensor& tensor, std::string_view what) {
  return log::format("transfer of {} from rank {} to rank {}: {}", what, from, to, kind_of(tensor));
}

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

// One collective: if it fails, the error says which rank caused it.
class ProcessGroupWorld::Running final : public Work::Pending {
 public:
  // `once`: a wait that times out aborts the operation (transfers of Gloo, everything of NCCL).
  enum class Waits { once, in_slices };
  Running(ProcessGroupWorld& world, std::string call, Waits waits = Waits::once)
      : world_(world), call_(std::move(call)), waits_(waits) {}
  static Waits waits_for(bool on_gpu) { return on_gpu ? Waits::once : Waits::in_slices; }

  template <class Start>
  void start(Start&& begin) {
    guarded([&] { work_ = begin(); });
  }
  void wait() override {
    guarded([&] { waits_ == Waits::once ? void(work_->wait()) : wait_in_slices(); });
  }

 private:
  // The connection to a process that has died may stay open, but the store knows that it is gone.
  void wait_in_slices() {
    constexpr std::chrono::seconds first{2}, longest{30};
    for (std::chrono::milliseconds slice = first; !completed_within(slice);
         slice = std::min<std::chrono::milliseconds>(2 * slice, longest))
      if (world_.presence_.somebody_died()) throw std::runtime_error("its connection is still open");
  }
  bool completed_within(std::chrono::milliseconds time) {
    try {
      return work_->wait(time);
    } catch (const std::exception&) {
      return work_->isCompleted() && work_->wait();  // throws again what it failed with
    }
  }

  template <class Action>
  void guarded(Action&& action) {
    try {
      action();
    } catch (const RankError&) {
      throw;
    } catch (const std::exception& error) {
      throw world_.explained(call_, error);
    }
  }

  ProcessGroupWorld& world_;
  const std::string call_;
  const Waits waits_;
  c10::intrusive_ptr<c10d::Work> work_;
};

// Some of the ranks. The world of all ranks finds out which rank failed.
class ProcessGroupWorld::Group final : public CollectiveWorld {
 public:
  Group(ProcessGroupWorld& all, Place place, const std::vector<int>& ranks)
      : CollectiveWorld(std::move(place)), all_(all) {
    std::string name = "group";
    for (const int each : ranks) name += "/" + std::to_string(each);
    // The same ranks may make several groups, in the same order.
    const std::int64_t number = all.store_->add(log::format("{}/made by {}", name, all.rank()), 1);
    const auto store = make_intrusive<c10d::PrefixStore>(log::format("{}/{}", name, number), all.store_);
    if (all.options_.check_collectives)
      calls_.emplace(store, all.presence_, ranks, all.rank(), all.options_.timeout);
    try {
      cpu_ = gloo(store, place_, all.options_);
      if (all.options_.gpu)
        cuda_ = make_nccl_group({store, place_.rank, place_.size, *all.options_.gpu, all.options_.timeout});
    } catch (const std::exception& error) {
      throw all_.explained("connecting the ranks of a group", error);
    }
  }
  ~Group() override {
    if (!all_.broken_) return;
    cpu_.release();
    cuda_.release();
  }

 private:
  Work begin(std::string_view operation, std::string_view what, const torch::Tensor& tensor,
             const Start& start) override {
    const std::string call = log::format("{} of {}", operation, what);
    all_.presence_.starts(call);
    const bool on_gpu = tensor.is_cuda() && cuda_;
    auto running = std::make_unique<Running>(all_, call, Running::waits_for(on_gpu));
    running->start([&] {
      if (calls_) calls_->compare(log::format("{}: {}", call, kind_of(tensor)));
      return start(on_gpu ? *cuda_ : *cpu_);
    });
    return Work(std::move(running));
  }

  ProcessGroupWorld& all_;
  std::optional<CallCheck> calls_;
  c10::intrusive_ptr<c10d::Backend> cpu_, cuda_;
};

ProcessGroupWorld::ProcessGroupWorld(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                     const GroupOptions& options, std::unique_ptr<StoreServer> server)
    : CollectiveWorld(place),
      server_(std::move(server)),
      store_(store),
      options_(options),
      presence_(store, place, options.timeout) {
  std::vector<int> all(static_cast<std::size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  calls_ = call_check(std::move(all));
  if (local_rank() == 0) store_->set("machine/" + machine(), std::to_string(rank()));
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (options.gpu)
    store_->set(log::format("gpu/{}/{}", machine(), local_rank()),
                log::format("{}/{}", visible ? visible : "", *options.gpu));
  presence_.wait_for_all();
  if (options.gpu) require_own_gpu();
  try {
    first_on_machine_ = std::stoi(store_->get_to_str("machine/" + machine()));
    cpu_ = gloo(store, place, options);
    if (options.gpu)
      cuda_ = make_nccl_group({store->clone(), place.rank, place.size, *options.gpu, options.timeout});
  } catch (const std::exception& error) {
    throw explained("connecting the ranks", error);
  }
}

// NCCL would fail with a message about something else. The same index means another GPU where a launcher
// shows each rank only its own. Every rank that shares a GPU finds out, so that none waits for another.
void ProcessGroupWorld::require_own_gpu() const {
  const auto key = [&](int local) { return log::format("gpu/{}/{}", machine(), local); };
  const std::string own = store_->get_to_str(key(local_rank()));
  for (int other = 0; other < local_size(); ++other) {
    if (other == local_rank() || store_->get_to_str(key(other)) != own) continue;
    throw std::runtime_error(log::format(
        "ranks {} and {} of this machine both compute on cuda:{}, but NCCL needs a GPU for each rank: set "
        "run.device = \"cuda\", which gives every rank its own, and start no more ranks than there are GPUs",
        std::min(local_rank(), other), std::max(local_rank(), other), *options_.gpu));
  }
}

ProcessGroupWorld::~ProcessGroupWorld() {
  if (!broken_) return;
  // Threads of the groups may still wait for a rank that does not answer: destroying the groups would hang.
  cpu_.release();
  cuda_.release();
}

RankError ProcessGroupWorld::explained(const std::string& call, const std::exception& error) {
  broken_ = true;
  RankError explained(log::format("Rank {} stopped in {}: {}. ({})", rank(), call, presence_.who_failed(),
                                  first_line(error)));
  presence_.failed(explained.what(), /*because_of_another=*/true);
  return explained;
}

c10d::Backend& ProcessGroupWorld::backend(const torch::Tensor& tensor) const {
  return tensor.is_cuda() && cuda_ ? *cuda_ : *cpu_;
}

Work ProcessGroupWorld::begin(std::string_view operation, std::string_view what, const torch::Tensor& tensor,
                              const Start& start) {
  const std::string call = log::format("{} of {}", operation, what);
  presence_.starts(call);
  auto running = std::make_unique<Running>(*this, call, Running::waits_for(tensor.is_cuda() && cuda_));
  running->start([&] {
    if (calls_) calls_->compare(log::format("{}: {}", call, kind_of(tensor)));
    return start(backend(tensor));
  });
  return Work(std::move(running));
}

std::unique_ptr<World> ProcessGroupWorld::group(const std::vector<int>& ranks) {
  const auto own = std::ranges::find(ranks, rank());
  Place place{static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size())};
  if (place.size == 1) return std::make_unique<World>();
  return std::make_unique<Group>(*this, std::move(place), ranks);
}

std::optional<CallCheck> ProcessGroupWorld::call_check(std::vector<int> ranks) {
  if (!options_.check_collectives) return {};
  return CallCheck(store_, presence_, std::move(ranks), rank(), options_.timeout);
}

void ProcessGroupWorld::compare_with(int peer, const std::string& call) {
  if (!options_.check_collectives) return;
  auto& calls = calls_with_[peer];
  if (!calls)  // not under the keys of the calls of all ranks, which may be just these two
    calls.emplace(make_intrusive<c10d::PrefixStore>("transfers", store_), presence_,
                  std::vector{std::min(rank(), peer), std::max(rank(), peer)}, rank(), options_.timeout);
  calls->compare(call);
}

void ProcessGroupWorld::send(const torch::Tensor& tensor, int to, std::string_view what) {
  const std::string call = log::format("send of {} to rank {}", what, to);
  presence_.starts(call);
  Running running(*this, call);
  std::vector<torch::Tensor> tensors{tensor};
  running.start([&] {
    compare_with(to, transfer(rank(), to, tensor, what));
    return backend(tensor).send(tensors, to, 0);
  });
  running.wait();
}

void ProcessGroupWorld::receive(const torch::Tensor& tensor, int from, std::string_view what) {
  const std::string call = log::format("receive of {} from rank {}", what, from);
  presence_.starts(call);
  Running running(*this, call);
  std::vector<torch::Tensor> tensors{tensor};
  running.start([&] {
    compare_with(from, transfer(from, rank(), tensor, what));
    return backend(tensor).recv(tensors, from, 0);
  });
  running.wait();
}

void ProcessGroupWorld::exchange(const torch::Tensor& out, const torch::Tensor& in, int peer,
                                 std::string_view what) {
  const std::string call = log::format("exchange of {} with rank {}", what, peer);
  presence_.starts(call);
  Running sending(*this, call), receiving(*this, call);
  std::vector<torch::Tensor> outs{out}, ins{in};
  receiving.start([&] {
    const std::string there = transfer(rank(), peer, out, what), back = transfer(peer, rank(), in, what);
    compare_with(peer, "exchange: " + (rank() < peer ? there + ", " + back : back + ", " + there));
    return backend(in).recv(ins, peer, 0);
  });
  sending.start([&] { return backend(out).send(outs, peer, 0); });
  receiving.wait();
  sending.wait();
}

void ProcessGroupWorld::barrier(std::string_view what) {
  all_reduce(torch::zeros(1), Reduction::sum, log::format("a barrier ({})", what));
}

void ProcessGroupWorld::once(Once scope, std::string_view what, const std::function<void()>& work) {
  const bool everywhere = scope == Once::in_the_world;
  const std::string key = log::format("once/{}/{}", once_calls_++, everywhere ? "" : machine());
  presence_.starts(std::string(what));
  if (everywhere ? rank() == 0 : local_rank() == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      presence_.failed(reason_of(error), dynamic_cast<const RankError*>(&error) != nullptr);
      throw;
    }
    store_->set(key, "done");
    return;
  }
  wait_for_keys({{everywhere ? 0 : first_on_machine_, key}}, what);
}

void ProcessGroupWorld::wait_for_all(std::string_view what) {
  const std::string meeting = log::format("wait/{}/", waits_++);
  presence_.starts(log::format("waiting for all ranks after {}", what));
  if (rank() != 0) {  // all watch rank 0, and rank 0 watches all
    store_->set(meeting + std::to_string(rank()), "here");
    return wait_for_keys({{0, meeting + "all"}}, what);
  }
  std::map<int, std::string> others;
  for (int other = 1; other < size(); ++other) others[other] = meeting + std::to_string(other);
  wait_for_keys(std::move(others), what);
  store_->set(meeting + "all", "here");
}

// Waits through the store: other ranks may take longer than the timeout of a collective.
void ProcessGroupWorld::wait_for_keys(std::map<int, std::string> expected, std::string_view what) {
  for (std::chrono::milliseconds pause{10};;) {
    std::erase_if(expected, [&](const auto& entry) { return store_->check({entry.second}); });
    if (expected.empty()) return;
    for (const auto& [from, key] : expected) {
      const auto trouble = presence_.trouble_with(from);
      if (!trouble) continue;
      RankError error(log::format("Rank {} waited for {}: {}.", rank(), what, *trouble));
      presence_.failed(error.what(), /*because_of_another=*/true);
      throw error;
    }
    try {
      store_->wait({expected.begin()->second}, pause);
    } catch (const c10::DistStoreError&) {  // not yet
    }
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

void ProcessGroupWorld::failed(const std::exception& error) {
  presence_.failed(reason_of(error), dynamic_cast<const RankError*>(&error) != nullptr);
}

void ProcessGroupWorld::tell_folder(const std::string& folder) { store_->set(folder_key, folder); }

}  // namespace runner
