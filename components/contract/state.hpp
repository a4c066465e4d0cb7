#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// What an object saves in a checkpoint and loads from it: tensors, integers, numbers and texts by name, and
// the states of its parts. Nothing is opaque, so that other tools can read it.
struct State {
  std::map<std::string, torch::Tensor> tensors = {};  // may share memory with the object
  std::map<std::string, std::int64_t> integers = {};
  std::map<std::string, double> numbers = {};
  std::map<std::string, std::string> texts = {};
  std::map<std::string, State> parts = {};

  bool empty() const;
  std::int64_t bytes() const;  // of all tensors
  State copy() const;          // a deep copy in main memory
};

// Reads a state strictly. A missing entry is an error that names it, and so is, at finish(), an entry that
// was not read:
//   StateReader saved(state);
//   best_ = saved.number("best");
//   saved.finish();
class StateReader {
 public:
  explicit StateReader(const State& state) : state_(state) {}

  const torch::Tensor& tensor(const std::string& name);
  void tensor_into(const std::string& name, torch::Tensor target);  // copies; throws if the shapes differ
  std::int64_t integer(const std::string& name);
  double number(const std::string& name);
  const std::string& text(const std::string& name);
  const State& part(const std::string& name);

  // For optional entries.
  const torch::Tensor* find_tensor(const std::string& name);
  std::optional<std::int64_t> find_integer(const std::string& name);
  std::optional<double> find_number(const std::string& name);
  const std::string* find_text(const std::string& name);
  const State* find_part(const std::string& name);

  void finish() const;

 private:
  template <class Entries>
  const typename Entries::mapped_type* find(const Entries& entries, const std::string& name);
  template <class Entries>
  const typename Entries::mapped_type& take(const Entries& entries, const std::string& name);

  const State& state_;
  std::set<const void*> taken_;  // the entries themselves: several types may use the same name
};

// An entry of a state is missing, unexpected or of another shape.
struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An object that keeps state from one update to the next. After save() in the middle of a run and load()
// into a new object, both objects continue in the same way.
class Stateful {
 public:
  virtual ~Stateful() = default;

  virtual State save() const { return {}; }
  // Throws StateError, which names the entry, if the state does not fit this object.
  virtual void load(const State& state) { StateReader(state).finish(); }
};

}  // namespace runner
