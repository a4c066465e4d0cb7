#include "components/weights/torch_file.hpp"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <unordered_map>

#include "components/torch/torch_error.hpp"
#include "components/weights/torch_pickle.hpp"
#include "components/weights/weights_dict.hpp"
#include "components/weights/zip_archive.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

using namespace pickle;

constexpr std::array<unsigned char, 4> zip_magic{'P', 'K', 3, 4};
// The number 0x1950a86a20f9469cfc6c as a pickle of its own.
constexpr std::array<unsigned char, 13> old_magic{0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                                  0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

template <std::size_t size>
bool has_at(std::span<const std::byte> bytes, std::size_t position,
            const std::array<unsigned char, size>& wanted) {
  return bytes.size() >= position + size && std::memcmp(bytes.data() + position, wanted.data(), size) == 0;
}

// Each storage becomes one flat tensor, however many tensors are views of it. Storages that no weight uses
// are not read.
class Storages {
 public:
  using Fetch = std::function<std::span<std::byte>(const std::string& key)>;

  Storages(std::shared_ptr<PrivateMapping> file, Fetch fetch)
      : file_(std::move(file)), fetch_(std::move(fetch)) {}

  torch::Tensor tensor(const TensorRecord& record) {
    if (std::ranges::find(record.sizes, 0) != record.sizes.end())
      return torch::empty(record.sizes, record.type);
    const Storage& storage = record.storage;
    auto& flat = flat_[{storage.key, record.type}];
    if (!flat.defined()) {
      const std::span<std::byte> bytes = fetch_(storage.key);
      flat = flat_tensor(bytes, record.type);
      file_->give_back(bytes);  // they were read for the checksum
    }
    if (storage.offset > flat.numel() || storage.count > flat.numel() - storage.offset) {
      throw PickleError("its storage " + in_quotes(storage.key) + " is shorter than its tensors need");
    }
    return flat.as_strided(record.sizes, record.strides, storage.offset + record.offset);
  }

 private:
  torch::Tensor flat_tensor(std::span<std::byte> bytes, torch::Dtype type) const {
    const auto count = static_cast<std::int64_t>(bytes.size() / torch::elementSize(type));
    const auto alignment = std::min<std::size_t>(torch::elementSize(type), alignof(std::int64_t));
    if (count > 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) {
      return torch::from_blob(bytes.data(), {count}, [file = file_](void*) {}, type);
    }
    auto copy = torch::empty({count}, type);
    if (count > 0) std::memcpy(copy.data_ptr(), bytes.data(), copy.nbytes());
    return copy;
  }

  std::shared_ptr<PrivateMapping> file_;
  Fetch fetch_;
  std::map<std::pair<std::string, torch::Dtype>, torch::Tensor> flat_;
};

TorchFile extract(const Object& root, Storages& storages) {
  const WeightsDict weights = find_weights(root);
  TorchFile file;
  file.found_in = weights.path;
  for (const auto& [key, value] : weights.dict->items) {
    const auto* name = key->as<std::string>();
    const auto* record = value->as<std::shared_ptr<const TensorRecord>>();
    if (!name && record)
      throw PickleError("it holds a tensor whose key is not a string: give it a name, or remove it");
    if (!name) continue;
    if (record) {
      file.tensors[*name] = storages.tensor(**record);
    } else {
      file.others.push_back(*name);
    }
  }
  return file;
}

TorchFile read_zip(const std::shared_ptr<PrivateMapping>& file) {
  const ZipArchive archive(file->bytes());
  const auto ends_with = [&](std::string_view ending) {
    return std::ranges::find_if(archive.entries(),
                                [&](const auto& entry) { return entry.first.ends_with(ending); });
  };
  if (ends_with("/constants.pkl") != archive.entries().end()) {
    throw PickleError("it is a TorchScript module, not weights: use it as model.name = \"torchscript\"");
  }
  if (ends_with("/archive_format") != archive.entries().end()) {
    throw PickleError(
        "it is a program written by torch.export, not weights: use it as model.name = \"exported\", which "
        "begins with the weights in it");
  }
  const auto pickle = ends_with("/data.pkl");
  if (pickle == archive.entries().end())
    throw PickleError("it is a zip archive, but torch.save did not write it");
  const std::string folder =
      pickle->first.substr(0, pickle->first.size() - std::string_view("data.pkl").size());
  if (archive.entries().contains(folder + "byteorder")) {
    const auto order = archive.read(folder + "byteorder");
    if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) != "little") {
      throw PickleError("it was written on a big-endian machine");
    }
  }
  TorchVocabulary vocabulary;
  Unpickler unpickler(archive.read(pickle->first), vocabulary);
  const Object& root = unpickler.load();
  Storages storages(file, [&](const std::string& key) { return archive.read(folder + "data/" + key); });
  TorchFile read = extract(root, storages);
  read.layout = "zip";
  return read;
}

const Object* member(const Object& dict, std::string_view name) {
  const auto* held = dict.as<Dict>();
  if (!held) throw PickleError("its header is malformed");
  for (const auto& [key, value] : held->items) {
    if (key->as<std::string>() && *key->as<std::string>() == name) return value;
  }
  return nullptr;
}

TorchFile read_old(const std::shared_ptr<PrivateMapping>& file) {
  TorchVocabulary vocabulary;
  Unpickler unpickler(file->bytes(), vocabulary);
  unpickler.load();  // the magic number, already compared
  const auto* version = unpickler.load().as<std::int64_t>();
  if (!version || *version != 1001) throw PickleError("it is in an unknown version of the layout");
  const Object* little = member(unpickler.load(), "little_endian");
  if (little && little->as<bool>() && !*little->as<bool>())
    throw PickleError("it was written on a big-endian machine");
  const Object& root = unpickler.load();
  const auto* keys = unpickler.load().as<List>();
  if (!keys) throw PickleError("the list of its storages is malformed");

  std::unordered_map<std::string, std::span<std::byte>> places;
  auto rest = file->bytes().last(unpickler.rest().size());
  for (const Object* item : keys->items) {
    const auto* key = item->as<std::string>();
    const auto type = key ? vocabulary.storage_types().find(*key) : vocabulary.storage_types().end();
    if (type == vocabulary.storage_types().end()) throw PickleError("the list of its storages is malformed");
    std::uint64_t count = 0, size = 0;
    if (rest.size() < sizeof count)
      throw PickleError("it ends before its storage " + in_quotes(*key) + ": the file is truncated");
    std::memcpy(&count, rest.data(), sizeof count);
    rest = rest.subspan(sizeof count);
    if (__builtin_mul_overflow(count, torch::elementSize(type->second), &size) || size > rest.size()) {
      throw PickleError("it ends inside its storage " + in_quotes(*key) + ": the file is truncated");
    }
    places[*key] = rest.first(size);
    rest = rest.subspan(size);
  }
  Storages storages(file, [&](const std::string& key) {
    const auto found = places.find(key);
    if (found == places.end()) throw PickleError("its storage " + in_quotes(key) + " is missing");
    return found->second;
  });
  TorchFile read = extract(root, storages);
  read.layout = "old layout";
  return read;
}

[[noreturn]] void cannot_read(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
}

}  // namespace

bool looks_like_torch_file(std::span<const std::byte> bytes) {
  if (has_at(bytes, 0, zip_magic)) return true;
  // The sizes of the opcodes for the protocol and, from protocol 4 on, for the frame.
  constexpr std::size_t protocol = 2, frame = 9;
  if (bytes.size() <= protocol || bytes[0] != std::byte{0x80}) return false;
  return has_at(bytes, protocol + (bytes[protocol] == std::byte{0x95} ? frame : 0), old_magic);
}

TorchFile read_torch_file(const std::filesystem::path& path) {
  return read_torch_file(PrivateMapping::open(path));
}

TorchFile read_torch_file(const std::shared_ptr<PrivateMapping>& file) {
  try {
    if (has_at(file->bytes(), 0, zip_magic)) return read_zip(file);
    if (looks_like_torch_file(file->bytes())) return read_old(file);
    throw PickleError("torch.save did not write it");
  } catch (const std::runtime_error& error) {
    cannot_read(file->path(), error.what());
  } catch (const c10::Error& error) {
    cannot_read(file->path(), reason_of(error));
  }
}

}  // namespace runner
