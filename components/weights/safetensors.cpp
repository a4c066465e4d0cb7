#include "components/weights/safetensors.hpp"

#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "components/weights/safetensors_header.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"

namespace runner {

using namespace safetensors;

static_assert(std::endian::native == std::endian::little, "tensors are used as they are stored in the file");

namespace {

torch::Tensor tensor_on(const std::shared_ptr<PrivateMapping>& file, const Header& header,
                        const Entry& entry) {
  if (entry.begin == entry.end) return torch::empty(entry.shape, entry.type);
  std::byte* data = file->bytes().data() + header.data_begin + entry.begin;
  const auto keep = [file](void*) {};  // the mapping lives as long as any tensor that uses it
  const auto alignment = std::min<std::size_t>(torch::elementSize(entry.type), alignof(std::int64_t));
  if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) {
    return torch::from_blob(data, entry.shape, keep, entry.type);
  }
  auto copy = torch::empty(entry.shape, entry.type);
  std::memcpy(copy.data_ptr(), data, entry.end - entry.begin);
  return copy;
}

struct Item {
  std::string name;
  torch::Tensor tensor;
  std::ptrdiff_t type;  // in type_names
  std::uint64_t bytes;
};

[[noreturn]] void cannot_write(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error("Cannot write " + path.string() + ": " + why + ".");
}

// In the same order as the Python package, so that equal weights give equal files.
std::vector<Item> in_file_order(const std::filesystem::path& path,
                                const std::vector<std::pair<std::string, torch::Tensor>>& tensors) {
  if (tensors.size() > most_tensors)
    cannot_write(path, "a file can hold " + std::to_string(most_tensors) + " tensors, not " +
                           std::to_string(tensors.size()));
  std::vector<Item> items;
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") cannot_write(path, "no tensor may be called \"__metadata__\"");
    if (!names.insert(name).second) cannot_write(path, "two tensors are called " + in_quotes(name));
    if (!tensor.defined()) cannot_write(path, "tensor " + in_quotes(name) + " is undefined");
    const auto known = std::ranges::find(type_names, tensor.scalar_type(), &TypeName::type);
    if (known == type_names.end() || tensor.layout() != torch::kStrided) {
      cannot_write(path, "tensor " + in_quotes(name) + " has the type " +
                             torch::toString(tensor.scalar_type()) + ", which safetensors does not know");
    }
    items.push_back({name, tensor, known - type_names.begin(),
                     static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size()});
  }
  std::ranges::sort(items, {}, [](const Item& item) { return std::tie(item.type, item.name); });
  return items;
}

std::string header_text(const std::filesystem::path& path, const std::vector<Item>& items,
                        const Metadata& metadata) {
  // Not as an ordered_json, which searches all its keys for each new one.
  const auto json = [](const auto& value) { return nlohmann::json(value).dump(); };
  std::string text = "{";
  std::uint64_t at = 0;
  try {
    if (!metadata.empty()) text += "\"__metadata__\":" + json(metadata);
    for (const Item& item : items) {
      if (text.size() > 1) text += ',';
      text += json(item.name) + ":{\"dtype\":\"";
      text += type_names[static_cast<std::size_t>(item.type)].name;
      text += "\",\"shape\":" + json(item.tensor.sizes().vec()) + ",\"data_offsets\":[" + std::to_string(at) +
              "," + std::to_string(at + item.bytes) + "]}";
      at += item.bytes;
    }
  } catch (const nlohmann::json::exception&) {
    cannot_write(path, "a name or a metadata entry is not valid UTF-8");
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > longest_header) cannot_write(path, "its header would be larger than the format allows");
  return text;
}

}  // namespace

std::map<std::string, torch::Tensor> read_safetensors(const std::filesystem::path& path) {
  return read_safetensors(PrivateMapping::open(path));
}

std::map<std::string, torch::Tensor> read_safetensors(const std::shared_ptr<PrivateMapping>& file) {
  const Header header = read_header(*file);
  std::map<std::string, torch::Tensor> tensors;
  for (const Entry& entry : header.entries) tensors[entry.name] = tensor_on(file, header, entry);
  return tensors;
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  return read_safetensors_metadata(PrivateMapping::open(path, PrivateMapping::Access::read_only));
}

Metadata read_safetensors_metadata(const std::shared_ptr<PrivateMapping>& file) {
  return read_header(*file).metadata;
}

WrittenFile write_safetensors(const std::filesystem::path& path,
                              const std::vector<std::pair<std::string, torch::Tensor>>& tensors,
                              const Metadata& metadata,
                              const std::function<void(const torch::Tensor&)>& done_with) {
  const std::vector<Item> items = in_file_order(path, tensors);
  const std::string text = header_text(path, items, metadata);
  const std::uint64_t length = text.size();
  // Two threads read the same memory at the same time: one writes to the disk, one computes the checksums.
  const auto each_piece = [&](const auto& take) {
    take(std::as_bytes(std::span(&length, 1)));
    take(std::as_bytes(std::span(text)));
    for (const Item& item : items) {
      if (item.bytes == 0) continue;
      const auto plain = item.tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
      take(std::span{static_cast<const std::byte*>(plain.const_data_ptr()), item.bytes});
      if (done_with) done_with(item.tensor);
    }
  };
  auto written = std::async(std::launch::async, [&] {
    WrittenFileDigest digest;
    each_piece([&](std::span<const std::byte> bytes) { digest.update(bytes); });
    return digest.result();
  });
  AtomicFile file(path);
  each_piece([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
  return written.get();
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length + 1) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length <= longest_header && bytes[sizeof length] == std::byte{'{'};
}

}  // namespace runner
