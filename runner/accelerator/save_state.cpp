#include <algorithm>

#include "components/weights/sharded_safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/checkpoint/checkpoint.hpp"
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

// The folder that is written first is next to it.
fs::path with_parent(const fs::path& given) {
  fs::path folder = fs::absolute(given).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "state/"
  return folder;
}

void recover(World& world, const fs::path& folder) {
  world.once(World::Once::in_the_world, "the checkpoint", [&] { recover_folder(with_parent(folder)); });
}

std::string numbered(const std::string& name, std::size_t number) {
  return number == 0 ? name : name + "." + std::to_string(number);
}

}  // namespace

void Accelerator::save_model(const torch::nn::Module& model, const fs::path& folder,
                             std::int64_t max_shard_bytes) {
  world().once(World::Once::in_the_world, "the model", [&] {
    fs::create_directories(folder);
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
    for (std::size_t i = 0; i < impl.optimizers.size(); ++i)
      objects.emplace_back(numbered("optimizer", i), impl.optimizers[i]->optimizer.get());
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
  std::optional<PartsOfRanks> compression;
  std::vector<std::pair<std::string, Stateful*>> objects;
};

void Accelerator::save_state(const fs::path& given) {
  const fs::path folder = with_parent(given);
  if (!impl_->window.last())
    throw std::logic_error("call save_state() between two updates: gradients are being accumulated.");
  impl_->engine.average_weights();
  const AllState all(*impl_);
  Checkpoint checkpoint;
  for (const auto& [name, object] : all.objects) checkpoint.states[name] = object->save();
  for (const auto& optimizer : impl_->optimizers)
    checkpoint.step = std::max(checkpoint.step, optimizer->steps);
  world().once(World::Once::in_the_world, "the checkpoint", [&] {
    if (impl_->trackers) impl_->trackers->flush();  // what was logged before the state was saved
    fs::create_directories(folder.parent_path());
    call_save_hooks(impl_->save_hooks, checkpoint, folder);
    TemporaryFolderBeside temporary(folder);
    write_checkpoint(temporary, checkpoint);
  });
}

bool Accelerator::has_state(const fs::path& folder) {
  recover(world(), folder);
  return world().any(is_main_process() && fs::exists(folder), "whether there is a checkpoint");
}

void Accelerator::load_state(const fs::path& folder) {
  recover(world(), folder);
  const AllState all(*impl_);
  FoundCheckpoint found{folder, read_checkpoint(folder)};
  call_load_hooks(impl_->load_hooks, found.checkpoint, folder);
  restore(found, all.objects);
  impl_->window.restart();
  for (const auto& optimizer : impl_->optimizers) optimizer->steps = found.checkpoint.step;
}

}  // namespace runner
