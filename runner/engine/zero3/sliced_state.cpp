#include "runner/engine/zero3/sliced_state.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <sstream>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

// Separates the names of nested parts and tensors; occurs in none of them.
constexpr char separator = '\x1f';

using Tensors = std::map<std::string, torch::Tensor>;

void flatten(const State& state, const std::string& prefix, Tensors& all) {
  for (const auto& [name, tensor] : state.tensors) all[prefix + name] = tensor;
  for (const auto& [name, part] : state.parts) flatten(part, prefix + name + separator, all);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind(separator) + 1); }

void insert(State& state, const std::string& path, const torch::Tensor& tensor) {
  const auto end = path.find(separator);
  if (end == std::string::npos) {
    state.tensors[path] = tensor;
  } else {
    insert(state.parts[path.substr(0, end)], path.substr(end + 1), tensor);
  }
}

State without_tensors(State state) {
  state.tensors.clear();
  for (auto& [name, part] : state.parts) part = without_tensors(part);
  return state;
}

}  // namespace

SlicedStates::SlicedStates(const Model& model, const ShardedParameters& parameters, World& world)
    : world_(world), set_aside_(parameters.options().set_aside), group_size_(parameters.group().size()) {
  for (const auto& item : model.named_parameters()) {
    const auto [unit, index] = parameters.place_of(item.value());
    places_[item.key()] = {parameters.units()[unit].get(), index, parameters.writer_of(unit)};
  }
}

const SlicedStates::Place* SlicedStates::find(const std::string& entry) const {
  auto place = places_.find(entry);
  if (place == places_.end()) place = places_.find(entry.substr(0, entry.rfind('.')));
  return place == places_.end() ? nullptr : &place->second;
}

// If a rank keeps a whole parameter, its state is joined there, and nothing needs to be sent.
int SlicedStates::joined_on(const Place& place) const {
  const std::int64_t all = place.unit->parameters()[place.parameter].tensor.numel();
  for (int rank = 0; rank < group_size_ && all > 0; ++rank)
    if (place.unit->layout().piece(place.parameter, rank).count == all) return rank;
  return place.writer;
}

std::map<std::string, SlicedStates::Holders> SlicedStates::holders_of(const Tensors& own) const {
  std::ostringstream said;
  for (const auto& [path, tensor] : own) {
    const Place* place = find(name_of(path));
    const bool slice = place && world_.rank() < group_size_ &&
                       tensor.sizes() == place->unit->layout().slice_shape(place->parameter, world_.rank());
    said << slice << ' ' << static_cast<int>(tensor.scalar_type()) << ' ' << path << '\n';
  }
  const std::vector<std::string> of_ranks = world_.gather_texts(said.str(), "names of saved tensors");
  std::map<std::string, Holders> all;
  for (int rank = 0; rank < group_size_; ++rank) {
    std::istringstream lines(of_ranks[static_cast<std::size_t>(rank)]);
    bool slice = false;
    int type = 0;
    for (std::string path; lines >> slice >> type && lines.ignore() && std::getline(lines, path);) {
      Holders& holders = all[path];
      holders.ranks.push_back(rank);
      holders.type = static_cast<torch::ScalarType>(type);
      holders.slices = holders.slices && slice;
    }
  }
  return all;
}

State SlicedStates::join(const State& own) const {
  const torch::NoGradGuard no_grad;
  Tensors tensors;
  flatten(own, "", tensors);
  State saved = world_.rank() < group_size_ ? without_tensors(own) : State{};
  for (const auto& [path, holders] : holders_of(tensors)) {
    const auto found = tensors.find(path);
    const torch::Tensor mine = found == tensors.end() ? torch::Tensor() : found->second;
    if (holders.slices) {
      if (const torch::Tensor whole = join(*find(name_of(path)), holders, mine); whole.defined())
        insert(saved, path, set_aside_ ? set_aside_(whole) : whole);
    } else if (holders.ranks.front() == world_.rank()) {
      insert(saved, path, mine);
    }
  }
  return saved;
}

torch::Tensor SlicedStates::join(const Place& place, const Holders& holders, const torch::Tensor& own) const {
  constexpr auto what = "a slice to be saved";
  const UnitLayout& layout = place.unit->layout();
  const torch::Tensor& parameter = place.unit->parameters()[place.parameter].tensor;
  const int joined = joined_on(place), rank = world_.rank();
  if (layout.piece(place.parameter, joined).count == parameter.numel() && parameter.numel() > 0)
    return rank == joined ? own : torch::Tensor();
  std::int64_t there = 0;
  for (const int from : holders.ranks) there += layout.piece(place.parameter, from).count;
  if (there != parameter.numel())
    throw StateError("a rank has nothing to save for its slice of " +
                     in_quotes(place.unit->parameters()[place.parameter].name));
  torch::Tensor elements;
  if (rank == joined)
    elements = torch::empty(
        {parameter.numel()},
        place.unit->slices()[place.parameter].options().dtype(holders.type).requires_grad(false));
  for (const int from : holders.ranks) {
    const UnitLayout::Stretch piece = layout.piece(place.parameter, from);
    if (piece.count == 0) continue;
    if (from == joined) {
      if (rank == joined) elements.narrow(0, piece.first, piece.count).copy_(own.reshape(-1));
    } else if (rank == from) {
      world_.send(own.reshape(-1), joined, what);
    } else if (rank == joined) {
      world_.receive(elements.narrow(0, piece.first, piece.count), from, what);
    }
  }
  return elements.defined() ? layout.in_shape(elements, place.parameter) : elements;
}

State SlicedStates::slice(const State& whole) const {
  State own = whole;
  for (auto& [name, tensor] : own.tensors) {
    const Place* place = find(name);
    if (place && tensor.sizes() == place->unit->parameters()[place->parameter].tensor.sizes())
      tensor = place->unit->own_slice(tensor, place->parameter);
  }
  for (auto& [name, part] : own.parts) part = slice(part);
  return own;
}

}  // namespace runner
