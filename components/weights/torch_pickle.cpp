#include "components/weights/torch_pickle.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "registry/base/wording.hpp"

namespace runner::pickle {

namespace {

using Arguments = std::vector<const Object*>;

struct NamedType {
  std::string_view name;
  torch::Dtype type;
};

constexpr std::array storages{
    NamedType{"FloatStorage", torch::kFloat32},
    NamedType{"DoubleStorage", torch::kFloat64},
    NamedType{"HalfStorage", torch::kFloat16},
    NamedType{"BFloat16Storage", torch::kBFloat16},
    NamedType{"LongStorage", torch::kInt64},
    NamedType{"IntStorage", torch::kInt32},
    NamedType{"ShortStorage", torch::kInt16},
    NamedType{"CharStorage", torch::kInt8},
    NamedType{"ByteStorage", torch::kUInt8},
    NamedType{"BoolStorage", torch::kBool},
    NamedType{"ComplexFloatStorage", torch::kComplexFloat},
    NamedType{"ComplexDoubleStorage", torch::kComplexDouble},
};

constexpr std::array types{
    NamedType{"float32", torch::kFloat32},
    NamedType{"float64", torch::kFloat64},
    NamedType{"float16", torch::kFloat16},
    NamedType{"bfloat16", torch::kBFloat16},
    NamedType{"int64", torch::kInt64},
    NamedType{"int32", torch::kInt32},
    NamedType{"int16", torch::kInt16},
    NamedType{"int8", torch::kInt8},
    NamedType{"uint8", torch::kUInt8},
    NamedType{"uint16", torch::kUInt16},
    NamedType{"uint32", torch::kUInt32},
    NamedType{"uint64", torch::kUInt64},
    NamedType{"bool", torch::kBool},
    NamedType{"float8_e4m3fn", torch::kFloat8_e4m3fn},
    NamedType{"float8_e5m2", torch::kFloat8_e5m2},
    NamedType{"float8_e4m3fnuz", torch::kFloat8_e4m3fnuz},
    NamedType{"float8_e5m2fnuz", torch::kFloat8_e5m2fnuz},
    NamedType{"complex64", torch::kComplexFloat},
    NamedType{"complex128", torch::kComplexDouble},
};

std::optional<torch::Dtype> find(const auto& names, std::string_view name) {
  const auto found = std::ranges::find(names, name, &NamedType::name);
  if (found == names.end()) return std::nullopt;
  return found->type;
}

std::string_view without(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view{};
}

std::optional<torch::Dtype> storage_type(std::string_view global) {
  if (global == "torch.storage.UntypedStorage") return torch::kUInt8;
  if (const auto type = find(storages, without("torch.", global))) return type;
  return find(storages, without("torch.cuda.", global));
}

constexpr std::array<std::string_view, 15> callables{
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch.Size",
    "torch.device",
    "collections.OrderedDict",
    "_codecs.encode",
    "builtins.set",
    "__builtin__.set",
    "builtins.frozenset",
    "__builtin__.frozenset",
    "builtins.bytearray",
    "__builtin__.bytearray",
};

[[noreturn]] void malformed(const std::string& global) {
  throw PickleError("it calls " + escaped_name(global) + " with arguments that torch.save does not write");
}

const Object& argument(const std::string& global, const Arguments& arguments, std::size_t index) {
  if (index >= arguments.size()) malformed(global);
  return *arguments[index];
}

template <class T>
const T& argument_as(const std::string& global, const Arguments& arguments, std::size_t index) {
  if (const T* held = argument(global, arguments, index).as<T>()) return *held;
  malformed(global);
}

// The items of a list, tuple or set, which set() and torch.Size() are called with.
const Arguments& items(const std::string& global, const Object& object) {
  if (const auto* list = object.as<List>()) return list->items;
  if (const auto* tuple = object.as<Tuple>()) return tuple->items;
  if (const auto* set = object.as<Set>()) return set->items;
  malformed(global);
}

std::vector<std::int64_t> extents(const std::string& global, const Object& object) {
  const Arguments& held = items(global, object);
  if (held.size() > 64)
    throw PickleError("it holds a tensor of " + std::to_string(held.size()) + " dimensions");
  std::vector<std::int64_t> numbers;
  for (const Object* item : held) {
    const auto* number = item->as<std::int64_t>();
    if (!number || *number < 0) malformed(global);
    numbers.push_back(*number);
  }
  return numbers;
}

// Arguments: storage, offset, sizes, strides [, requires_grad, hooks [, type]].
Object rebuild_tensor(const std::string& global, const Arguments& arguments) {
  const auto& storage = argument_as<std::shared_ptr<const Storage>>(global, arguments, 0);
  TensorRecord tensor{*storage, storage->type, argument_as<std::int64_t>(global, arguments, 1),
                      extents(global, argument(global, arguments, 2)),
                      extents(global, argument(global, arguments, 3))};
  if (global.ends_with("_v3")) {
    tensor.type = argument_as<torch::Dtype>(global, arguments, 6);
    const auto width = static_cast<std::int64_t>(torch::elementSize(tensor.type));
    tensor.storage.count =
        tensor.storage.count * static_cast<std::int64_t>(torch::elementSize(storage->type)) / width;
    tensor.storage.type = tensor.type;
  }
  // Every element has to be in the storage; the last one is the farthest, because no stride is negative.
  if (tensor.offset < 0 || tensor.sizes.size() != tensor.strides.size()) malformed(global);
  std::int64_t last = tensor.offset, elements = 1;
  bool empty = false, overflow = false;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] == 0) empty = true;
    std::int64_t reach = 0;
    overflow |=
        __builtin_mul_overflow(std::max<std::int64_t>(tensor.sizes[i] - 1, 0), tensor.strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
    overflow |= __builtin_mul_overflow(elements, std::max<std::int64_t>(tensor.sizes[i], 1), &elements);
  }
  if (!empty && (overflow || last >= tensor.storage.count))
    throw PickleError("it holds a tensor that is larger than its storage");
  // Strides of 0 repeat numbers: a few bytes could represent a tensor larger than any memory.
  constexpr std::int64_t always_allowed = 1 << 20;
  if (!empty && elements > always_allowed && elements / 16 > tensor.storage.count) {
    throw PickleError("it holds a tensor of " + std::to_string(elements) +
                      " numbers, of which it stores only " + std::to_string(tensor.storage.count) +
                      ": save a contiguous one");
  }
  return {std::make_shared<const TensorRecord>(std::move(tensor))};
}

Object ordered_dict(const std::string& global, const Arguments& arguments) {
  Dict dict;
  if (arguments.empty()) return {std::move(dict)};
  for (const Object* pair : items(global, *arguments.front())) {
    const Arguments& both = items(global, *pair);
    if (both.size() != 2) malformed(global);
    dict.items.emplace_back(both[0], both[1]);
  }
  return {std::move(dict)};
}

// Protocol 2 has no bytes: it writes them as text, one character (U+0000 to U+00FF, in UTF-8) per byte.
Object encoded_bytes(const std::string& global, const Arguments& arguments) {
  Bytes bytes;
  const auto& text = argument_as<std::string>(global, arguments, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes.data += text[i];
    } else if ((first == 0xc2 || first == 0xc3) && i + 1 < text.size()) {
      bytes.data += static_cast<char>((first & 3u) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fu));
    } else {
      malformed(global);
    }
  }
  return {std::move(bytes)};
}

}  // namespace

bool TorchVocabulary::knows(const std::string& global) const {
  return std::ranges::find(callables, global) != callables.end() || storage_type(global) ||
         find(types, without("torch.", global));
}

Object TorchVocabulary::global(const std::string& global) const {
  if (const auto type = find(types, without("torch.", global))) return {*type};
  return {Global{global}};
}

Object TorchVocabulary::call(const std::string& global, const Arguments& arguments) const {
  if (global.starts_with("torch._utils._rebuild_tensor")) return rebuild_tensor(global, arguments);
  if (global.starts_with("torch._utils._rebuild_parameter")) {
    return {argument_as<std::shared_ptr<const TensorRecord>>(global, arguments, 0)};
  }
  if (global == "collections.OrderedDict") return ordered_dict(global, arguments);
  if (global == "torch.device") return {argument_as<std::string>(global, arguments, 0)};
  if (global == "_codecs.encode") return encoded_bytes(global, arguments);
  if (global.ends_with(".bytearray"))
    return arguments.empty() ? Object{Bytes{}} : Object{argument_as<Bytes>(global, arguments, 0)};
  if (global == "torch.Size") return {Tuple{items(global, argument(global, arguments, 0))}};
  if (global.ends_with("set"))
    return arguments.empty() ? Object{Set{}} : Object{Set{items(global, *arguments[0])}};
  malformed(global);  // a storage class is named, never called
}

// ("storage", class, key, device, elements [, None or (key, offset, elements) of a part of it])
Object TorchVocabulary::persistent(const Object& id) {
  static const std::string what = "a storage";
  const auto* tuple = id.as<Tuple>();
  if (!tuple) malformed(what);
  const Arguments& parts = tuple->items;
  if (argument_as<std::string>(what, parts, 0) != "storage") malformed(what);
  const auto type = storage_type(argument_as<Global>(what, parts, 1).name);
  if (!type) malformed(what);
  Storage storage{argument_as<std::string>(what, parts, 2), *type, argument_as<std::int64_t>(what, parts, 4)};
  if (storage.key.size() > 64) malformed(what);
  std::int64_t bytes = 0;
  if (storage.count < 0 ||
      __builtin_mul_overflow(storage.count, static_cast<std::int64_t>(torch::elementSize(*type)), &bytes))
    malformed(what);
  if (parts.size() > 5 && !parts[5]->as<None>()) {
    const Arguments& view = argument_as<Tuple>(what, parts, 5).items;
    storage.offset = argument_as<std::int64_t>(what, view, 1);
    const auto count = argument_as<std::int64_t>(what, view, 2);
    if (storage.offset < 0 || count < 0 || storage.offset > storage.count ||
        count > storage.count - storage.offset)
      malformed(what);
    storage.count = count;
  }
  storage_types_[storage.key] = storage.type;
  return {std::make_shared<const Storage>(std::move(storage))};
}

}  // namespace runner::pickle
