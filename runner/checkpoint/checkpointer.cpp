#include "runner/checkpoint/checkpointer.hpp"

#include <cmath>

#include "registry/base/log.hpp"
#include "registry/files/io_error.hpp"
#include "runner/checkpoint/environment_changes.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;

// Whether the memory of a tensor goes with it. That of from_blob() without a deleter belongs to someone else.
bool owns_memory(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.use_count() == 1 && tensor.has_storage() &&
         tensor.storage().use_count() == 1 && tensor.storage().data_ptr().get_context() != nullptr;
}

// A copy that shares no memory with the run; tensors that nothing else refers to are not copied. Those of a
// device arrive later.
State own_copy(State state, HostCopies& copies) {
  for (auto& [name, part] : state.parts) part = own_copy(std::move(part), copies);
  for (auto& [name, tensor] : state.tensors) {
    if (!owns_memory(tensor)) tensor = copies(tensor);
  }
  return state;
}

}  // namespace

Checkpointer::Checkpointer(const CheckpointSection& section, const std::filesystem::path& run_folder,
                           const States& states, TimeLedger& times, std::map<std::string, std::string> texts,
                           std::map<std::string, std::string> versions, Ranks ranks,
                           std::vector<ModelStatesHook> hooks)
    : async_(section.async),
      keep_(section.keep),
      settings_{static_cast<std::int64_t>(section.max_shard_size.bytes)},
      policy_(section),
      store_(run_folder),
      states_(states),
      times_(times),
      texts_(std::move(texts)),
      versions_(std::move(versions)),
      ranks_(std::move(ranks)),
      is_writer_(ranks_.world.is_main()),
      found_any_(!store_.all().empty()),
      hooks_(std::move(hooks)) {}

Checkpointer::~Checkpointer() {
  cancelled_ = true;
  if (writing_.valid()) writing_.wait();
}

void Checkpointer::resumed(const Progress& place) {
  policy_.resumed(place, times_.restarts());
  const auto folder = store_.path_of(place.step);
  if (!is_writer_ || !std::filesystem::exists(folder)) return;  // a new run that starts from another one
  for (const auto& newer : store_.all()) {  // it would have been resumed from one of them, were they intact
    if (newer == folder) break;
    damaged_.insert(newer);
  }
  for (const std::string& change :
       environment_changes(read_summary(folder), versions_, ranks_.world.size(), ranks_.examples_of_rank))
    log::warning("Changed since the checkpoint was written: {}. The results may differ.", change);
}

void Checkpointer::measured(const Measurements& metrics) {
  metrics_.clear();
  for (const auto& [name, value] : metrics) {
    if (std::isfinite(value)) metrics_[name] = value;
  }
}

void Checkpointer::after_step(const Progress& now, bool wanted) {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) wait();
  if (wanted) save(now);
}

void Checkpointer::at_end(const Progress& now, bool interrupted) {
  if (policy_.at_end(interrupted)) save(now);
  const auto counted = times_.during(TimeLedger::checkpoints);
  const bool together = !ranks_.sharded_states.empty();
  std::string failure;
  try {
    wait();
  } catch (const std::exception& error) {
    if (!together) throw;
    failure = error.what();
  }
  if (together) agree_on_failure(failure);
}

// At the end there is no further update in which other ranks would notice the failure.
void Checkpointer::agree_on_failure(const std::string& own) const {
  for (const std::string& failure : ranks_.world.gather_texts(own, "how the last checkpoint went"))
    if (!failure.empty()) throw IoError(own.empty() ? failure : own);
}

void Checkpointer::on_exception(const Progress& now) noexcept {
  try {
    if (policy_.on_exception()) save(now);
    wait();
  } catch (const std::exception& error) {
    log::error("Could not write a checkpoint after the run failed: {}", error.what());
  } catch (...) {  // of a hook in a plugin
    log::error("Could not write a checkpoint after the run failed: unknown error.");
  }
}

void Checkpointer::save(const Progress& now) {
  if (saved_examples_ == now.examples) return;
  const auto counted = times_.during(TimeLedger::checkpoints);
  const auto start_of_stall = Clock::now();
  wait();
  HostCopies copies;
  Checkpoint taken = take(now, copies);
  if (!hooks_.empty()) copies.wait();  // hooks may read the state
  Job job = prepare(std::move(taken), copies);
  saved_examples_ = now.examples;
  if (job) start(std::move(job), now, seconds_since(start_of_stall));
}

// A copy of the state as it is now.
Checkpoint Checkpointer::take(const Progress& now, HostCopies& copies) {
  Checkpoint checkpoint;
  checkpoint.step = now.step;
  checkpoint.epoch = now.exact_epoch;
  checkpoint.seconds = now.seconds;
  checkpoint.ranks = ranks_.world.size();
  // After a skipped update, or in a resumed run, a checkpoint of the same step may already exist.
  checkpoint.kept = is_writer_ && (policy_.keeps(now) || store_.is_kept(now.step));
  checkpoint.metrics = metrics_;
  checkpoint.texts = texts_;
  checkpoint.versions = versions_;
  for (const auto& [name, stateful] : states_) {
    State state = stateful->save();
    if (is_writer_ || ranks_.sharded_states.contains(name))
      checkpoint.states[name] = own_copy(std::move(state), copies);
  }
  return checkpoint;
}

// Checks the disk space, calls the hooks, and lets all ranks know the folder and what each of them writes.
// Returns what is left to do in the background.
Checkpointer::Job Checkpointer::prepare(Checkpoint checkpoint, const HostCopies& copies) {
  World& world = ranks_.world;
  const bool together = !ranks_.sharded_states.empty();
  if (!together && !is_writer_) return {};
  double bytes = 0;
  for (const auto& [name, state] : checkpoint.states) bytes += static_cast<double>(state.bytes());
  if (together) bytes = world.all_reduce(bytes, Reduction::sum, "the size of the checkpoint");
  std::shared_ptr<TemporaryFolderBeside> folder;
  if (is_writer_) {
    folder = store_.begin(checkpoint.step, static_cast<std::uint64_t>(bytes));
    call_save_hooks(hooks_, checkpoint, store_.path_of(checkpoint.step));
    damaged_.erase(store_.path_of(checkpoint.step));  // it is replaced
  }
  std::filesystem::path shared;
  if (together)
    shared = world.broadcast_text(is_writer_ ? std::filesystem::absolute(folder->path()).string() : "", 0,
                                  "the folder of the checkpoint");
  checkpoint.sharded = ranks_.sharded_states;

  auto held = std::make_shared<const Checkpoint>(std::move(checkpoint));
  if (!is_writer_) {
    return [held, shared, rank = world.rank(), ranks = world.size(), copies] {
      copies.wait();
      for (const auto& [name, state] : held->states) write_part(shared, {name, rank, ranks}, state);
    };
  }
  return [this, held, folder, damaged = damaged_, copies] {
    copies.wait();
    const WaitOptions wait{ranks_.timeout, &cancelled_,
                           [&world = ranks_.world](int rank) { return world.trouble_with(rank); }};
    store_.write(*folder, *held, settings_, keep_, wait, damaged);
  };
}

void Checkpointer::start(Job job, const Progress& now, double waited) {
  policy_.begun(now, waited);
  writing_step_ = now.step;
  writing_ = std::async(std::launch::async, [job = std::move(job)] {
    const auto start_of_writing = Clock::now();
    job();
    return seconds_since(start_of_writing);
  });
  if (!async_) wait();
}

void Checkpointer::wait() {
  if (!writing_.valid()) return;
  try {
    policy_.written(writing_.get());
  } catch (...) {
    policy_.failed();
    saved_examples_.reset();  // on_exception() tries once more
    throw;
  }
  durable_step_ = writing_step_;
}

}  // namespace runner
