#include "components/weights/pickle.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "registry/base/wording.hpp"

namespace runner::pickle {

namespace {

// Far more than any file of weights needs: limits for files that were made to exhaust the memory.
constexpr std::uint64_t most_objects = 1'500'000;
constexpr std::uint64_t most_work = 20'000'000;  // opcodes, and items that calls copy

std::uint64_t copied_size(const Object& object) {
  return std::visit(
      [](const auto& held) -> std::uint64_t {
        if constexpr (requires { held.items.size(); }) {
          return held.items.size();
        } else if constexpr (requires { held.data.size(); }) {
          return held.data.size();
        } else if constexpr (requires { held->sizes.size(); }) {
          return 2 * held->sizes.size();
        } else if constexpr (requires { held.size(); }) {
          return held.size();
        } else {
          return 0;
        }
      },
      object.data);
}

}  // namespace

const Object& Unpickler::load() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  for (;;) {
    charge(1);
    const auto opcode = static_cast<unsigned char>(take_unsigned(1));
    if (opcode == '.') return *pop();
    step(opcode);
  }
}

void Unpickler::step(unsigned char opcode) {
  if (step_scalar(opcode) || step_text(opcode) || step_container(opcode) || step_memo(opcode)) return;
  step_call(opcode);
}

bool Unpickler::step_scalar(unsigned char opcode) {
  switch (opcode) {
    case 'N': push({None{}}); return true;
    case 0x88: push({true}); return true;
    case 0x89: push({false}); return true;
    case 'J': push({std::int64_t{static_cast<std::int32_t>(take_unsigned(4))}}); return true;
    case 'K': push({static_cast<std::int64_t>(take_unsigned(1))}); return true;
    case 'M': push({static_cast<std::int64_t>(take_unsigned(2))}); return true;
    case 0x8a: push_integer(take_string(take_unsigned(1))); return true;
    case 0x8b: push_integer(take_string(take_unsigned(4))); return true;
    case 'I':
    case 'L': push_decimal(take_line()); return true;
    case 'F': {
      const std::string line = take_line();
      double number = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
      if (error != std::errc() || end != line.data() + line.size())
        throw PickleError("it holds a malformed number");
      push({number});
      return true;
    }
    case 'G': push({std::bit_cast<double>(__builtin_bswap64(take_unsigned(8)))}); return true;
    default: return false;
  }
}

bool Unpickler::step_text(unsigned char opcode) {
  switch (opcode) {
    case 'S': {
      const std::string line = take_line();
      if (line.size() < 2 || line.front() != line.back()) throw PickleError("it holds a malformed string");
      push({line.substr(1, line.size() - 2)});
      return true;
    }
    case 'V': push({take_line()}); return true;
    case 'U':
    case 0x8c: push({take_string(take_unsigned(1))}); return true;
    case 'T':
    case 'X': push({take_string(take_unsigned(4))}); return true;
    case 0x8d: push({take_string(take_unsigned(8))}); return true;
    case 'C': push({Bytes{take_string(take_unsigned(1))}}); return true;
    case 'B': push({Bytes{take_string(take_unsigned(4))}}); return true;
    case 0x8e:
    case 0x96: push({Bytes{take_string(take_unsigned(8))}}); return true;
    default: return false;
  }
}

bool Unpickler::step_container(unsigned char opcode) {
  switch (opcode) {
    case '(': marks_.push_back(stack_.size()); return true;
    case ']': push({List{}}); return true;
    case 'l': push({List{pop_to_mark()}}); return true;
    case 'a': {
      const Object* item = pop();
      top<List>("a list").items.push_back(item);
      return true;
    }
    case 'e': {
      const auto items = pop_to_mark();
      auto& list = top<List>("a list").items;
      list.insert(list.end(), items.begin(), items.end());
      return true;
    }
    case ')': push({Tuple{}}); return true;
    case 't': push({Tuple{pop_to_mark()}}); return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<const Object*> items(opcode - 0x84u);
      for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
      push({Tuple{std::move(items)}});
      return true;
    }
    case '}': push({Dict{}}); return true;
    case 'd': {
      Dict dict;
      add_pairs(dict, pop_to_mark());
      push({std::move(dict)});
      return true;
    }
    case 's': {
      const Object* value = pop();
      const Object* key = pop();
      top<Dict>("a dictionary").items.emplace_back(key, value);
      return true;
    }
    case 'u': {
      const auto items = pop_to_mark();
      add_pairs(top<Dict>("a dictionary"), items);
      return true;
    }
    case 0x8f: push({Set{}}); return true;
    case 0x90: {
      const auto items = pop_to_mark();
      auto& set = top<Set>("a set").items;
      set.insert(set.end(), items.begin(), items.end());
      return true;
    }
    case 0x91: push({Set{pop_to_mark()}}); return true;
    default: return false;
  }
}

bool Unpickler::step_memo(unsigned char opcode) {
  const auto from_line = [this] {
    const std::string line = take_line();
    std::uint64_t index = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), index);
    if (error != std::errc() || end != line.data() + line.size())
      throw PickleError("it holds a malformed number");
    return index;
  };
  switch (opcode) {
    case 0x80: {
      const auto protocol = take_unsigned(1);
      if (protocol > 5) throw PickleError("it is written in pickle protocol " + std::to_string(protocol));
      return true;
    }
    case 0x95: take_unsigned(8); return true;  // a frame is only of use when reading from a pipe
    case '0': pop(); return true;
    case '1': pop_to_mark(); return true;
    case '2': {
      Object* object = pop();
      stack_.insert(stack_.end(), 2, object);
      return true;
    }
    case 'p': remember(from_line()); return true;
    case 'q': remember(take_unsigned(1)); return true;
    case 'r': remember(take_unsigned(4)); return true;
    case 0x94: remember(memo_.size()); return true;
    case 'g': recall(from_line()); return true;
    case 'h': recall(take_unsigned(1)); return true;
    case 'j': recall(take_unsigned(4)); return true;
    default: return false;
  }
}

void Unpickler::step_call(unsigned char opcode) {
  switch (opcode) {
    case 'c':
    case 'i': {  // 'i' also calls it; no class that we support is called that way
      const std::string module = take_line();
      push_global(module, take_line());
      if (opcode == 'i') throw PickleError("it creates an object in a way that no file of weights does");
      return;
    }
    case 0x93: {
      const Object* name = pop();
      const Object* module = pop();
      if (!name->as<std::string>() || !module->as<std::string>())
        throw PickleError("it asks for something without a name");
      push_global(*module->as<std::string>(), *name->as<std::string>());
      return;
    }
    case 'R':
    case 0x81: {
      const Object* arguments = pop();
      call(pop(), arguments);
      return;
    }
    case 'b': {
      // Sets attributes of an object. state_dict() attaches its version numbers to the dictionary this way;
      // nothing else is accepted.
      pop();
      top<Dict>("a dictionary");
      return;
    }
    case 'Q': {
      const Object* id = pop();
      charge(16);
      push(vocabulary_.persistent(*id));
      return;
    }
    default:
      throw PickleError("it uses the pickle instruction " + std::to_string(opcode) +
                        ", which no file of weights needs");
  }
}

std::span<const std::byte> Unpickler::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) throw PickleError("it ends in the middle of its description");
  const auto taken = bytes_.subspan(at_, count);
  at_ += count;
  return taken;
}

std::uint64_t Unpickler::take_unsigned(std::size_t width) {
  std::uint64_t number = 0;
  std::memcpy(&number, take(width).data(), width);
  return number;
}

std::string Unpickler::take_string(std::uint64_t count) {
  const auto taken = take(count);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

std::string Unpickler::take_line() {
  const auto rest = bytes_.subspan(at_);
  const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), '\n', rest.size());
  if (!end) throw PickleError("it ends in the middle of its description");
  const auto length = static_cast<std::size_t>(static_cast<const std::byte*>(end) - rest.data());
  std::string line = take_string(length);
  take(1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

void Unpickler::push_integer(const std::string& little_endian) {
  if (little_endian.size() > sizeof(std::int64_t)) return push({BigInteger{little_endian}});
  const bool negative =
      !little_endian.empty() && (static_cast<unsigned char>(little_endian.back()) & 0x80u) != 0;
  std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
  std::memcpy(&number, little_endian.data(), little_endian.size());
  push({static_cast<std::int64_t>(number)});
}

void Unpickler::push_decimal(std::string digits) {
  if (digits == "00" || digits == "01")
    return push({digits == "01"});  // how the oldest protocol writes booleans
  if (!digits.empty() && digits.back() == 'L') digits.pop_back();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw PickleError("it holds a malformed number");
  push({number});
}

void Unpickler::push(Object object) {
  if (objects_.size() >= most_objects)
    throw PickleError("it describes more objects than any file of weights");
  stack_.push_back(&objects_.emplace_back(std::move(object)));
}

Object* Unpickler::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
    throw PickleError("its description is malformed");
  Object* object = stack_.back();
  stack_.pop_back();
  return object;
}

std::vector<const Object*> Unpickler::pop_to_mark() {
  if (marks_.empty()) throw PickleError("its description is malformed");
  const auto mark = static_cast<std::ptrdiff_t>(marks_.back());
  marks_.pop_back();
  std::vector<const Object*> items(stack_.begin() + mark, stack_.end());
  stack_.resize(static_cast<std::size_t>(mark));
  return items;
}

template <class T>
T& Unpickler::top(const char* what) {
  Object* object = pop();
  stack_.push_back(object);
  if (T* held = std::get_if<T>(&object->data)) return *held;
  throw PickleError(std::string("it treats something as ") + what + " that is none");
}

void Unpickler::add_pairs(Dict& dict, const std::vector<const Object*>& items) {
  if (items.size() % 2 != 0) throw PickleError("it has a key without a value");
  for (std::size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(items[i], items[i + 1]);
}

void Unpickler::remember(std::uint64_t index) {
  Object* object = pop();
  stack_.push_back(object);
  memo_[index] = object;
}

void Unpickler::recall(std::uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) throw PickleError("it refers to something that it did not describe");
  stack_.push_back(found->second);
}

void Unpickler::push_global(const std::string& module, const std::string& name) {
  const std::string global = module + "." + name;
  if (!vocabulary_.knows(global)) {
    throw PickleError(
        "the file asks for " + escaped_name(global) +
        "; only tensors, containers, numbers and strings are read from such files, and nothing in them is "
        "executed (in Python, save model.state_dict() alone)");
  }
  push(vocabulary_.global(global));
}

void Unpickler::call(const Object* function, const Object* arguments) {
  const auto* global = function->as<Global>();
  const auto* tuple = arguments->as<Tuple>();
  if (!global || !tuple) throw PickleError("it calls something that is not a function");
  Object result = vocabulary_.call(global->name, tuple->items);
  // Copies that a call makes cost no bytes in the file: without counting them, a small file could fill the
  // memory.
  charge(16 + copied_size(result));
  push(std::move(result));
}

void Unpickler::charge(std::uint64_t amount) {
  charged_ += amount;
  if (charged_ > most_work) throw PickleError("its description is longer than that of any file of weights");
}

}  // namespace runner::pickle
