#pragma once

#include <torch/types.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// Python's pickle format, read as data: nothing is imported and nothing is called. A pickle is a program for
// a small stack machine; this machine builds containers, numbers and strings itself and asks a Vocabulary for
// the few names (classes, functions) that it is willing to understand. Every other name is refused.
namespace runner::pickle {

struct PickleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Object;

struct None {};
struct BigInteger {  // wider than 64 bits: kept as written, little-endian two's complement
  std::string bytes;
};
struct Bytes {
  std::string data;
};
struct List {
  std::vector<const Object*> items;
};
struct Tuple {
  std::vector<const Object*> items;
};
struct Set {
  std::vector<const Object*> items;
};
struct Dict {
  std::vector<std::pair<const Object*, const Object*>> items;  // as written: of equal keys the last counts
};
struct Global {
  std::string name;  // "collections.OrderedDict"
};
struct Storage {
  std::string key;
  torch::Dtype type;
  std::int64_t count;       // in elements of this type
  std::int64_t offset = 0;  // where it begins in the storage with this key, in elements
};
struct TensorRecord {
  Storage storage;
  torch::Dtype type;
  std::int64_t offset;
  std::vector<std::int64_t> sizes, strides;
};

struct Object {
  std::variant<None, bool, std::int64_t, BigInteger, double, std::string, Bytes, List, Tuple, Set, Dict,
               Global, torch::Dtype, std::shared_ptr<const Storage>, std::shared_ptr<const TensorRecord>>
      data;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual bool knows(const std::string& global) const = 0;
  virtual Object global(const std::string& global) const { return {Global{global}}; }
  virtual Object call(const std::string& global, const std::vector<const Object*>& arguments) const = 0;
  virtual Object persistent(const Object& id) = 0;
};

// Owns everything that was read: objects may refer to each other in any way, even in cycles.
class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, Vocabulary& vocabulary)
      : bytes_(bytes), vocabulary_(vocabulary) {}

  const Object& load();  // the next pickle; throws PickleError
  std::span<const std::byte> rest() const { return bytes_.subspan(at_); }

 private:
  void step(unsigned char opcode);
  bool step_scalar(unsigned char opcode);
  bool step_text(unsigned char opcode);
  bool step_container(unsigned char opcode);
  bool step_memo(unsigned char opcode);
  void step_call(unsigned char opcode);

  std::span<const std::byte> take(std::uint64_t count);
  std::uint64_t take_unsigned(std::size_t width);
  std::string take_string(std::uint64_t count);
  std::string take_line();
  void push_integer(const std::string& little_endian);
  void push_decimal(std::string digits);

  void push(Object object);
  Object* pop();
  std::vector<const Object*> pop_to_mark();
  template <class T>
  T& top(const char* what);
  void add_pairs(Dict& dict, const std::vector<const Object*>& items);
  void remember(std::uint64_t index);
  void recall(std::uint64_t index);
  void push_global(const std::string& module, const std::string& name);
  void call(const Object* function, const Object* arguments);
  void charge(std::uint64_t amount);

  std::span<const std::byte> bytes_;
  Vocabulary& vocabulary_;
  std::size_t at_ = 0;
  std::deque<Object> objects_;
  std::vector<Object*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Object*> memo_;
  std::uint64_t charged_ = 0;
};

}  // namespace runner::pickle
