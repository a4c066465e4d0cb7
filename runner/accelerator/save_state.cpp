#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include "components/weights/sharded_safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "runner/checkpoint/checkpoint_among_files.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/engine/runtime/generators.hpp"
#include "runner/engine/strategies/pack_state.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// The random generators of every rank: dropout differs from rank to rank, and continues exactly after a load.
class GeneratorsOfRanks final : public Stateful {
 public:
  GeneratorsOfRanks(World& world, const torch::Device& device) : world_(world), own_(device) {}

  State save() const override {
    State state;
    int rank = 0;
    for (const std::string& packed : world_.gather_texts(pack(own_.save()), "the random generators"))
      state.parts["rank." + std::to_string(rank++)] = unpack(packed);
    return state;
  }

  void load(const State& state) override {
    const auto own = state.parts.find("rank." + std::to_string(world_.rank()));
    if (own != state.parts.end()) own_.load(own->second);
    if (static_cast<int>(state.parts.size()) != world_.size() && world_.is_main())
      log::warning(
          "The state was saved by {} ranks and is loaded by {}: random numbers will differ from here on.",
          state.parts.size(), world_.size());
  }

 private:
  World& world_;
  Generators own_;
};

// A state of which every rank has a part, as one.
class PartsOfRanks final : public Stateful {
 public:
  PartsOfRanks(World& world, Stateful& own) : world_(world), own_(own) {}

  State save() const override {
    State all;
    for (const std::string& packed : world_.gather_texts(pack(own_.save()), "what ranks save")) {
      State part = unpack(packed);
      all.tensors.merge(part.tensors);
      all.integers.merge(part.integers);
    }
    return all;
  }
  void load(const State& state) override { own_.load(state); }

 private:
  World& world_;
  Stateful& own_;
};

// An optimizer of which every rank has the state of the parameters that it updates: saved as a whole. load()
// takes what this rank needs, so the number of ranks may change.
class DividedOptimizer final : public Stateful {
 public:
  DividedOptimizer(World& world, Stateful& own, std::set<std::string> foreign)
      : world_(world), own_(own), foreign_(std::move(foreign)) {}

  State save() const override {
    State whole;
    for (const std::string& packed : world_.gather_texts(pack(own_.save()), "the state of the optimizer")) {
      State part = unpack(packed);
      whole.tensors.merge(part.tensors);
      whole.integers.merge(part.integers);
      whole.numbers.merge(part.numbers);
      whole.texts.merge(part.texts);
    }
    return whole;
  }
  // Entries are named "<parameter>.<slot>".
  void load(const State& state) override {
    const auto without_foreign = [&](auto entries) {
      std::erase_if(entries, [&](const auto& entry) {
        return foreign_.contains(entry.first.substr(0, entry.first.rfind('.')));
      });
      return entries;
    };
    own_.load({without_foreign(state.tensors), without_foreign(state.integers),
               without_foreign(state.numbers), without_foreign(state.texts), state.parts});
  }

 private:
  World& world_;
  Stateful& own_;
  const std::set<std::string> foreign_;
};

fs::path normal(const fs::path& given) {
  fs::path folder = given.lexically_normal();
  if (folder.empty()) throw std::invalid_argument("save_state() and load_state() need the name of a folder.");
  return folder;
}

void make_folder(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem || !fs::is_directory(folder))
    throw IoError("Cannot save a state in " + folder.string() +
                  (problem ? ": " + problem.message() + "." : ": it is not a folder."));
}

void recover(World& world, const fs::path& folder) {
  world.once(World::Once::in_the_world, "the checkpoint", [&] { recover_among_files(folder); });
}

constexpr std::string_view of_project = "checkpoint_";

fs::path states_of(const ProjectOptions& project) {
  if (project.folder.empty())
    throw std::logic_error(
        "save_state() and load_state() without a folder need options.project.folder: set it, or give a "
        "folder.");
  return project.folder / "checkpoints";
}

fs::path state_of(const ProjectOptions& project, std::int64_t iteration) {
  return states_of(project) / (std::string(of_project) + std::to_string(iteration));
}

// The numbers of the states in a project.
std::set<std::int64_t> iterations_of(const ProjectOptions& project) {
  std::set<std::int64_t> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(states_of(project), none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(of_project)) continue;
    const std::string digits = name.substr(of_project.size());
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    recover_among_files(entry.path());
    if (holds_checkpoint(entry.path())) found.insert(std::stoll(digits));
  }
  return found;
}

std::string numbered(const std::string& name, std::size_t number) {
  return number == 0 ? name : name + "." + std::to_string(number);
}

}  // namespace

void Accelerator::save_model(const torch::nn::Module& model, const fs::path& folder,
                             std::int64_t max_shard_bytes) {
  world().once(World::Once::in_the_world, "the model", [&] {
    make_folder(folder);
    refuse_files_of_checkpoint(folder, [](const std::string& name) {
      return name.starts_with("model") && fs::path(name).extension() == ".safetensors";
    });
    std::vector<std::pair<std::string, torch::Tensor>> tensors;
    for (const auto& [name, tensor] : ModelWeights(model).all()) tensors.emplace_back(name, tensor);
    write_sharded_safetensors(folder, "model", tensors, max_shard_bytes);
  });
}

void Accelerator::register_for_checkpointing(const std::string& name, Stateful& object) {
  const std::string key = "object." + name;
  if (std::ranges::any_of(impl_->objects, [&](const auto& other) { return other.first == key; }))
    throw std::invalid_argument("Two objects are registered for checkpointing as " + in_quotes(name) + ".");
  impl_->objects.emplace_back(key, &object);
}
void Accelerator::register_save_state_pre_hook(ModelStatesHook hook) {
  impl_->save_hooks.push_back(std::move(hook));
}
void Accelerator::register_load_state_pre_hook(ModelStatesHook hook) {
  impl_->load_hooks.push_back(std::move(hook));
}

// All objects with state, by name.
struct Accelerator::AllState {
  explicit AllState(Impl& impl) : generators(impl.world, impl.engine.device()) {
    for (const auto& model : impl.models) objects.emplace_back(model->name, &model->weights);
    const auto foreign = impl.foreign_parameters();
    for (std::size_t i = 0; i < impl.optimizers.size(); ++i) {
      Stateful* object = impl.optimizers[i]->optimizer.get();
      if (impl.engine.updates_a_part()) {
        std::set<std::string> names;
        for (const auto& [name, tensor] : impl.named(impl.optimizers[i]->parameters))
          if (foreign.contains(tensor.unsafeGetTensorImpl())) names.insert(name);
        object = divided.emplace_back(std::make_unique<DividedOptimizer>(impl.world, *object, names)).get();
      }
      objects.emplace_back(numbered("optimizer", i), object);
    }
    for (std::size_t i = 0; i < impl.schedulers.size(); ++i)
      objects.emplace_back(numbered("scheduler", i), impl.schedulers[i].get());
    for (std::size_t i = 0; i < impl.loaders.size(); ++i)
      objects.emplace_back(numbered("loader", i), impl.loaders[i].get());
    objects.emplace_back("engine", &impl.engine);
    objects.emplace_back("generators", &generators);
    if (Stateful* own = impl.engine.compression())
      objects.emplace_back("compression", &compression.emplace(impl.world, *own));
    objects.insert(objects.end(), impl.objects.begin(), impl.objects.end());
  }

  GeneratorsOfRanks generators;
  std::vector<std::unique_ptr<DividedOptimizer>> divided;
  std::optional<PartsOfRanks> compression;
  std::vector<std::pair<std::string, Stateful*>> objects;
};

void Accelerator::save_state(const fs::path& given) {
  const fs::path folder = normal(given);
  if (!impl_->window.between_updates())
    throw std::logic_error("call save_state() between two updates: gradients are being accumulated.");
  impl_->engine.average_weights();
  const AllState all(*impl_);
  Checkpoint checkpoint;
  for (const auto& [name, object] : all.objects) checkpoint.states[name] = object->save();
  for (const auto& optimizer : impl_->optimizers)
    checkpoint.step = std::max(checkpoint.step, optimizer->steps);
  const bool each_machine = impl_->options.project.save_on_each_machine;
  world().once(each_machine ? World::Once::on_each_machine : World::Once::in_the_world, "the checkpoint",
               [&] {
                 if (impl_->trackers) impl_->trackers->flush();  // what was logged before
                 make_folder(folder);
                 recover_among_files(folder);
                 call_save_hooks(impl_->save_hooks, checkpoint, staged_among_files(folder));
                 write_among_files(folder, checkpoint);
               });
}

fs::path Accelerator::save_state() {
  const ProjectOptions& project = impl_->options.project;
  const fs::path folder = state_of(project, impl_->iteration);
  if (has_state(folder))
    throw std::logic_error(
        folder.string() +
        " exists already: call load_state() first, or set options.project.iteration to the "
        "number of the next state.");
  save_state(folder);
  ++impl_->iteration;
  if (!project.total_limit) return folder;
  world().once(World::Once::in_the_world, "the deletion of old checkpoints", [&] {
    std::set<std::int64_t> kept = iterations_of(project);
    while (static_cast<std::int64_t>(kept.size()) > *project.total_limit)
      fs::remove_all(state_of(project, kept.extract(kept.begin()).value()));
  });
  return folder;
}

bool Accelerator::has_state(const fs::path& given) {
  const fs::path folder = normal(given);
  bool found = false;
  world().once(World::Once::in_the_world, "the checkpoint", [&] {
    recover_among_files(folder);
    found = holds_checkpoint(folder);
  });
  return world().any(found, "whether there is a checkpoint");
}

bool Accelerator::has_state() {
  bool found = false;
  world().once(World::Once::in_the_world, "the checkpoints",
               [&] { found = !iterations_of(impl_->options.project).empty(); });
  return world().any(found, "whether there is a checkpoint");
}

void Accelerator::load_state(const fs::path& given) {
  const fs::path folder = normal(given);
  recover(world(), folder);
  const AllState all(*impl_);
  FoundCheckpoint found{folder, read_checkpoint(folder)};
  call_load_hooks(impl_->load_hooks, found.checkpoint, folder);
  restore(found, all.objects);
  impl_->window.restart();
  for (const auto& optimizer : impl_->optimizers) optimizer->steps = found.checkpoint.step;
}

fs::path Accelerator::load_state() {
  const ProjectOptions& project = impl_->options.project;
  double newest = -1;
  world().once(World::Once::in_the_world, "the checkpoints", [&] {
    if (const auto found = iterations_of(project); !found.empty())
      newest = static_cast<double>(*found.rbegin());
  });
  newest = world().all_reduce(newest, Reduction::max, "the newest checkpoint");
  if (newest < 0)
    throw std::runtime_error("There is no checkpoint in " + states_of(project).string() +
                             ": ask has_state() first.");
  const fs::path folder = state_of(project, static_cast<std::int64_t>(newest));
  load_state(folder);
  impl_->iteration = static_cast<std::int64_t>(newest) + 1;
  return folder;
}

}  // namespace runner
