#include "components/weights/safetensors.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "components/weights/atomic_file.hpp"
#include "components/weights/private_mapping.hpp"

namespace runner {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they lie in the file");

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t longest_header = 100'000'000;  // as in the reference implementation

struct TypeName {
  std::string_view name;
  torch::Dtype type;
};

constexpr std::array type_names{
    TypeName{"F64", torch::kFloat64},
    TypeName{"F32", torch::kFloat32},
    TypeName{"F16", torch::kFloat16},
    TypeName{"BF16", torch::kBFloat16},
    TypeName{"I64", torch::kInt64},
    TypeName{"I32", torch::kInt32},
    TypeName{"I16", torch::kInt16},
    TypeName{"I8", torch::kInt8},
    TypeName{"U8", torch::kUInt8},
    TypeName{"BOOL", torch::kBool},
    TypeName{"F8_E4M3", torch::kFloat8_e4m3fn},
    TypeName{"F8_E5M2", torch::kFloat8_e5m2},
    TypeName{"F8_E4M3FNUZ", torch::kFloat8_e4m3fnuz},
    TypeName{"F8_E5M2FNUZ", torch::kFloat8_e5m2fnuz},
    TypeName{"F8_E8M0", torch::kFloat8_e8m0fnu},
    TypeName{"C64", torch::kComplexFloat},
    TypeName{"U64", torch::kUInt64},
    TypeName{"U32", torch::kUInt32},
    TypeName{"U16", torch::kUInt16},
};

std::string in_quotes(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Entry {
  std::string name;
  torch::Dtype type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;  // in the data part
};

// Everything the header says, checked against the file, so that reading the tensors cannot fail any more.
class Header {
 public:
  explicit Header(const PrivateMapping& file) : path_(file.path().string()) {
    const auto bytes = file.bytes();
    if (bytes.size() < sizeof(std::uint64_t)) fail("it is too short to be a safetensors file");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > longest_header)
      fail("its header claims " + std::to_string(length) + " bytes; this is no safetensors file");
    if (length > bytes.size() - sizeof length) fail("it ends inside its header: the file is truncated");
    data_begin_ = sizeof length + length;
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
    read(parse({text, length}));
    check_layout(bytes.size() - data_begin_);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }
  std::uint64_t data_begin() const { return data_begin_; }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("Cannot read " + path_ + ": " + why + ".");
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& why) const {
    fail("tensor " + in_quotes(tensor) + " " + why);
  }

  Json parse(std::string_view text) const {
    // JSON readers keep the last of two equal keys; here that would hide a tensor.
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::object_start) {
        keys.emplace_back();
        if (keys.size() > 2) fail("its header is nested too deep");
      }
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
        fail("the key " + parsed.dump() + " is in its header twice");
      }
      return true;
    };
    try {
      return Json::parse(text, watch);
    } catch (const Json::exception& error) {
      fail(std::string("its header is not valid JSON (") + error.what() + ")");
    }
  }

  void read(const Json& header) {
    if (!header.is_object()) fail("its header is not a JSON object");
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        if (!value.is_object()) fail("its metadata is not a table of strings");
        for (const auto& [key, text] : value.items()) {
          if (!text.is_string()) fail("its metadata " + in_quotes(key) + " is not a string");
          metadata_[key] = text.get<std::string>();
        }
      } else {
        entries_.push_back(entry(name, value));
      }
    }
  }

  Entry entry(const std::string& name, const Json& value) const {
    if (!value.is_object()) fail(name, "has no description");
    const auto member = [&](const char* key) {
      const auto found = value.find(key);
      if (found == value.end()) fail(name, std::string("has no \"") + key + "\" in the header");
      return *found;
    };
    const Json type = member("dtype"), shape = member("shape"), offsets = member("data_offsets");
    if (value.size() != 3) fail(name, "has keys in the header that no safetensors file has");
    if (!type.is_string()) fail(name, "has a \"dtype\" that is not a string");
    const auto known = std::ranges::find(type_names, type.get<std::string>(), &TypeName::name);
    if (known == type_names.end()) fail(name, "has the type " + type.dump() + ", which is not supported");
    if (!shape.is_array()) fail(name, "has a \"shape\" that is not a list");
    if (shape.size() > 64) fail(name, "has " + std::to_string(shape.size()) + " dimensions");
    if (!offsets.is_array() || offsets.size() != 2 || !is_offset(offsets[0]) || !is_offset(offsets[1])) {
      fail(name, "has \"data_offsets\" that are not two positions");
    }
    Entry made{name, known->type, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    if (made.begin > made.end) fail(name, "ends before it begins");

    std::uint64_t size = torch::elementSize(made.type);
    for (const Json& extent : shape) {
      if (!is_offset(extent)) fail(name, "has an extent in its shape that is not a count: " + extent.dump());
      if (__builtin_mul_overflow(size, extent.get<std::uint64_t>(), &size))
        fail(name, "is larger than any memory");
      made.shape.push_back(extent.get<std::int64_t>());
    }
    if (size != made.end - made.begin) {
      fail(name, "should have " + std::to_string(size) +
                     " bytes by its shape and type, but its offsets give it " +
                     std::to_string(made.end - made.begin));
    }
    return made;
  }

  static bool is_offset(const Json& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  }

  void check_layout(std::uint64_t available) {
    std::ranges::sort(entries_, {}, [](const Entry& entry) { return std::tuple(entry.begin, entry.end); });
    std::uint64_t at = 0;
    const Entry* before = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.begin < at) fail(entry.name, "overlaps " + in_quotes(before->name));
      if (entry.begin > at) fail(entry.name, "is preceded by bytes that belong to no tensor");
      if (entry.end > available)
        fail(entry.name, "reaches beyond the end of the file: the file is truncated");
      at = entry.end;
      before = &entry;
    }
    if (at != available) fail(std::to_string(available - at) + " bytes at its end belong to no tensor");
  }

  std::string path_;
  std::vector<Entry> entries_;
  Metadata metadata_;
  std::uint64_t data_begin_ = 0;
};

torch::Tensor tensor_on(const std::shared_ptr<PrivateMapping>& file, const Header& header,
                        const Entry& entry) {
  if (entry.begin == entry.end) return torch::empty(entry.shape, entry.type);
  std::byte* data = file->bytes().data() + header.data_begin() + entry.begin;
  const auto keep = [file](void*) {};  // the mapping lives as long as any tensor on it
  const auto alignment = std::min<std::size_t>(torch::elementSize(entry.type), alignof(std::int64_t));
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) {
    return torch::from_blob(data, entry.shape, keep, entry.type);
  }
  auto copy = torch::empty(entry.shape, entry.type);
  std::memcpy(copy.data_ptr(), data, entry.end - entry.begin);
  return copy;
}

}  // namespace

std::map<std::string, torch::Tensor> read_safetensors(const std::filesystem::path& path) {
  const auto file = PrivateMapping::open(path);
  const Header header(*file);
  std::map<std::string, torch::Tensor> tensors;
  for (const Entry& entry : header.entries()) tensors[entry.name] = tensor_on(file, header, entry);
  return tensors;
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  return Header(*PrivateMapping::open(path)).metadata();
}

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                       const Metadata& metadata) {
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error("Cannot write " + path.string() + ": " + why + ".");
  };
  struct Item {
    std::string name;
    torch::Tensor tensor;
    std::string_view type;
    std::uint64_t bytes;
  };
  std::vector<Item> items;
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") fail("no tensor may be called \"__metadata__\"");
    if (!names.insert(name).second) fail("two tensors are called " + in_quotes(name));
    if (!tensor.defined()) fail("tensor " + in_quotes(name) + " is undefined");
    const auto known = std::ranges::find(type_names, tensor.scalar_type(), &TypeName::type);
    if (known == type_names.end() || tensor.layout() != torch::kStrided) {
      fail("tensor " + in_quotes(name) + " has the type " +
           std::string(torch::toString(tensor.scalar_type())) + ", which safetensors does not know");
    }
    items.push_back(
        {name, tensor, known->name, static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size()});
  }
  // Widest types first, so that every tensor is aligned; the same order as the Python package writes.
  std::ranges::sort(items, {}, [](const Item& item) {
    return std::tuple(-static_cast<int>(item.tensor.element_size()), item.name);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const Item& item : items) {
    header[item.name] = {
        {"dtype", item.type}, {"shape", item.tensor.sizes().vec()}, {"data_offsets", {at, at + item.bytes}}};
    at += item.bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    fail("a name or a metadata entry is not valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > longest_header) fail("its header would be larger than the format allows");

  AtomicFile file(path);
  const std::uint64_t length = text.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const Item& item : items) {
    if (item.bytes == 0) continue;
    const auto plain = item.tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
    file.write({static_cast<const std::byte*>(plain.const_data_ptr()), item.bytes});
  }
  file.commit();
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length + 1) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length <= longest_header && bytes[sizeof length] == std::byte{'{'};
}

}  // namespace runner
