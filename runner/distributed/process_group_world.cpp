#include "runner/distributed/process_group_world.hpp"

#include <torch/types.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "registry/log.hpp"
#include "runner/distributed/sighting.hpp"

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

#ifdef USE_C10D_NCCL
c10::intrusive_ptr<c10d::Backend> nccl(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                       const GroupOptions& options) {
  auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
  nccl_options->timeout = options.timeout;
  return make_intrusive<c10d::ProcessGroupNCCL>(make_intrusive<c10d::PrefixStore>("nccl", store->clone()),
                                                place.rank, place.size, nccl_options);
}
#else
c10::intrusive_ptr<c10d::Backend> nccl(const c10::intrusive_ptr<c10d::Store>&, const Place&,
                                       const GroupOptions&) {
  throw std::runtime_error("This build has no NCCL: several ranks can train on CPUs only.");
}
#endif

c10d::ReduceOp operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::min: return c10d::ReduceOp::MIN;
    case Reduction::max: return c10d::ReduceOp::MAX;
    default: return c10d::ReduceOp::SUM;
  }
}

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

// One collective: says who it was when it fails.
class ProcessGroupWorld::Running final : public Work::Pending {
 public:
  Running(ProcessGroupWorld& world, std::string call) : world_(world), call_(std::move(call)) {}

  template <class Start>
  void start(Start&& begin) {
    guarded([&] { work_ = begin(); });
  }
  void wait() override {
    guarded([&] { work_->wait(); });
  }

 private:
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
  c10::intrusive_ptr<c10d::Work> work_;
};

ProcessGroupWorld::ProcessGroupWorld(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                     const GroupOptions& options, std::unique_ptr<StoreServer> server)
    : World(place),
      server_(std::move(server)),
      store_(store),
      options_(options),
      presence_(store, place, options.timeout) {
  if (local_rank() == 0) store_->set("machine/" + host(), std::to_string(rank()));
  presence_.wait_for_all();
  try {
    first_on_machine_ = std::stoi(store_->get_to_str("machine/" + host()));
    cpu_ = gloo(store, place, options);
    if (options.cuda) cuda_ = nccl(store, place, options);
  } catch (const std::exception& error) {
    throw explained("connecting the ranks", error);
  }
}

ProcessGroupWorld::~ProcessGroupWorld() {
  if (!broken_) return;
  // The groups' threads may still wait for a rank that does not answer, and would be waited for.
  cpu_.release();
  cuda_.release();
}

RankError ProcessGroupWorld::explained(const std::string& call, const std::exception& error) {
  broken_ = true;
  std::string who;
  try {
    who = presence_.who_failed();
  } catch (const std::exception& also) {
    who = "the run's store is gone, too: the process that started the ranks, or rank 0, has ended";
  }
  RankError explained(log::format("Rank {} stopped in {}: {}. ({})", rank(), call, who, first_line(error)));
  presence_.failed(explained.what(), /*because_of_another=*/true);
  return explained;
}

c10d::Backend& ProcessGroupWorld::backend(const torch::Tensor& tensor) const {
  return tensor.is_cuda() && cuda_ ? *cuda_ : *cpu_;
}

template <class Start>
Work ProcessGroupWorld::begin(std::string_view operation, std::string_view what, const torch::Tensor& tensor,
                              Start start) {
  const std::string call = log::format("{} of {}", operation, what);
  presence_.begins(call);
  auto running = std::make_unique<Running>(*this, call);
  running->start([&] {
    if (options_.check_collectives)
      check_equal_calls(log::format("{}: {} {}", call, tensor.dtype().name(), tensor.sizes()));
    return start(backend(tensor));
  });
  return Work(std::move(running));
}

Work ProcessGroupWorld::begin_all_reduce(const torch::Tensor& tensor, Reduction reduction,
                                         std::string_view what) {
  constexpr std::array names{"all_reduce (sum)", "all_reduce (min)", "all_reduce (max)"};
  return begin(names[static_cast<std::size_t>(reduction)], what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.allreduce(tensors, {.reduceOp = operation_of(reduction)});
  });
}

Work ProcessGroupWorld::begin_all_gather(const torch::Tensor& all, const torch::Tensor& part,
                                         std::string_view what) {
  return begin("all_gather", what, part, [&](c10d::Backend& group) {
    torch::Tensor output = all.view(-1), input = part.reshape(-1);
    return group._allgather_base(output, input);
  });
}

Work ProcessGroupWorld::begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all,
                                             std::string_view what) {
  return begin("reduce_scatter", what, all, [&](c10d::Backend& group) {
    torch::Tensor output = part.view(-1), input = all.reshape(-1);
    return group._reduce_scatter_base(output, input);
  });
}

Work ProcessGroupWorld::begin_reduce(const torch::Tensor& tensor, int to, std::string_view what) {
  return begin("reduce", what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.reduce(tensors, {.reduceOp = c10d::ReduceOp::SUM, .rootRank = to});
  });
}

void ProcessGroupWorld::broadcast(const torch::Tensor& tensor, int from, std::string_view what) {
  begin("broadcast", what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.broadcast(tensors, {.rootRank = from});
  }).wait();
}

void ProcessGroupWorld::send(const torch::Tensor& tensor, int to, std::string_view what) {
  presence_.begins(log::format("send of {}", what));
  Running running(*this, log::format("send of {} to rank {}", what, to));
  std::vector<torch::Tensor> tensors{tensor};
  running.start([&] { return backend(tensor).send(tensors, to, 0); });
  running.wait();
}

void ProcessGroupWorld::receive(const torch::Tensor& tensor, int from, std::string_view what) {
  presence_.begins(log::format("receive of {}", what));
  Running running(*this, log::format("receive of {} from rank {}", what, from));
  std::vector<torch::Tensor> tensors{tensor};
  running.start([&] { return backend(tensor).recv(tensors, from, 0); });
  running.wait();
}

void ProcessGroupWorld::exchange(const torch::Tensor& out, const torch::Tensor& in, int peer,
                                 std::string_view what) {
  const std::string call = log::format("exchange of {} with rank {}", what, peer);
  presence_.begins(call);
  Running sending(*this, call), receiving(*this, call);
  std::vector<torch::Tensor> outs{out}, ins{in};
  receiving.start([&] { return backend(in).recv(ins, peer, 0); });
  sending.start([&] { return backend(out).send(outs, peer, 0); });
  receiving.wait();
  sending.wait();
}

void ProcessGroupWorld::barrier(std::string_view what) {
  all_reduce(torch::zeros(1), Reduction::sum, log::format("a barrier ({})", what));
}

void ProcessGroupWorld::once(Once scope, std::string_view what, const std::function<void()>& work) {
  const bool everywhere = scope == Once::in_the_world;
  const std::string key = log::format("once/{}/{}", once_calls_++, everywhere ? "" : host());
  presence_.begins(std::string(what));
  if (everywhere ? rank() == 0 : local_rank() == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      presence_.failed(error.what(), dynamic_cast<const RankError*>(&error) != nullptr);
      throw;
    }
    store_->set(key, "done");
    return;
  }
  // Through the store: the others may have to wait for longer than any collective would.
  const int worker = everywhere ? 0 : first_on_machine_;
  for (std::chrono::milliseconds pause{10}; !store_->check({key}); std::this_thread::sleep_for(pause)) {
    if (const auto trouble = presence_.trouble_with(worker)) {
      RankError error(log::format("Rank {} waited for {}: {}.", rank(), what, *trouble));
      presence_.failed(error.what(), true);
      throw error;
    }
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

void ProcessGroupWorld::failed(const std::exception& error) {
  presence_.failed(error.what(), dynamic_cast<const RankError*>(&error) != nullptr);
}

void ProcessGroupWorld::tell_folder(const std::string& folder) { store_->set(folder_key, folder); }

void ProcessGroupWorld::check_equal_calls(const std::string& call) {
  const auto key = [](std::int64_t number, int of) { return log::format("call/{}/{}", number, of); };
  const std::int64_t number = checked_calls_++;
  store_->set(key(number, rank()), call);
  if (number > 1) store_->deleteKey(key(number - 2, rank()));  // read by all: they have come to the next one

  std::map<std::string, std::vector<int>> callers;
  for (int other = 0; other < size(); ++other) {
    store_->wait({key(number, other)}, options_.timeout);
    callers[store_->get_to_str(key(number, other))].push_back(other);
  }
  if (callers.size() == 1) return;
  // Those who differ from most are named first.
  std::vector<std::pair<std::string, std::vector<int>>> calls(callers.begin(), callers.end());
  std::ranges::stable_sort(calls, {}, [](const auto& entry) { return entry.second.size(); });
  std::string list;
  for (const auto& [theirs, ranks] : calls) {
    list += list.empty() ? "" : "; ";
    for (const int other : ranks) list += log::format("{}rank {}", other == ranks.front() ? "" : ", ", other);
    list += ": " + theirs;
  }
  throw RankError(log::format("The ranks differ in what they exchange (call {}): {}.", number, list));
}

}  // namespace runner
