#include "components/models/exported/archive.hpp"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "components/torch/operator_mode.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner::exported {

namespace {

using Json = nlohmann::json;

constexpr std::string_view models = "models/", json_ending = ".json";

ZipArchive open_zip(const PrivateMapping& mapping) {
  try {
    return ZipArchive(mapping.bytes());
  } catch (const std::runtime_error& error) {
    throw Refusal(std::string("cannot be read: ") + error.what());
  }
}

// The folder that everything in the archive lies in.
std::string common_folder(const ZipArchive& zip) {
  for (const auto& [name, entry] : zip.entries()) {
    if (name.ends_with("/archive_format") || name == "archive_format")
      return name.substr(0, name.size() - std::string_view("archive_format").size());
    if (name == "serialized_exported_program.json")
      throw Refusal(
          "is in the format of torch 2.8 or older; write it again with a newer one: "
          "torch.export.save(torch.export.load(old), new)");
    if (name.ends_with("/constants.pkl"))
      throw Refusal(
          "is a TorchScript module, not an exported program: use it as model.name = \"torchscript\"");
  }
  throw Refusal("is a zip archive, but torch.export.save did not write it");
}

std::int64_t whole(const Json& json) {
  if (!json.is_number_integer()) throw Refusal("is damaged: a size in it is not a whole number");
  return json.get<std::int64_t>();
}

std::vector<std::int64_t> numbers(const Json& list) {
  std::vector<std::int64_t> all;
  for (const Json& item : list) {
    all.push_back(whole(item.at("as_int")));
    if (all.back() < 0) throw Refusal("is damaged: a size in it is negative");
  }
  return all;
}

StoredTensor stored_tensor(const std::string& name, const std::string& folder, const Json& json) {
  const Json& meta = json.at("tensor_meta");
  if (json.at("use_pickle").get<bool>() || !meta.is_object())
    throw Refusal("holds " + in_quotes(name) +
                  " as a pickle, which is not read here: export a model whose "
                  "tensors are plain ones");
  StoredTensor tensor;
  tensor.entry = folder + json.at("path_name").get<std::string>();
  tensor.type = type_of(whole(meta.at("dtype")));
  tensor.sizes = numbers(meta.at("sizes"));
  tensor.strides = numbers(meta.at("strides"));
  tensor.offset = whole(meta.at("storage_offset").at("as_int"));
  tensor.requires_grad = meta.at("requires_grad").get<bool>();
  if (tensor.strides.size() != tensor.sizes.size() || tensor.offset < 0 || tensor.sizes.size() > 64)
    throw Refusal("is damaged: the shape of " + in_quotes(name) + " makes no sense");
  return tensor;
}

// How many bytes the storage of a tensor needs at least; the largest number if it does not fit into one.
std::uint64_t bytes_needed(const StoredTensor& tensor) {
  auto last = static_cast<std::uint64_t>(tensor.offset);
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::uint64_t reach = 0;
    if (tensor.sizes[i] == 0) return 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(tensor.sizes[i] - 1),
                               static_cast<std::uint64_t>(tensor.strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::numeric_limits<std::uint64_t>::max();
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(last + 1, torch::elementSize(tensor.type), &bytes) || last + 1 == 0)
    return std::numeric_limits<std::uint64_t>::max();
  return bytes;
}

// More elements than the storage has, as an expanded tensor has, would take memory that the file does not
// account for.
bool fits(const StoredTensor& tensor, std::uint64_t bytes) {
  std::uint64_t size = torch::elementSize(tensor.type);
  for (const std::int64_t dimension : tensor.sizes)
    if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size)) return false;
  return bytes_needed(tensor) <= bytes && size <= std::max<std::uint64_t>(bytes, 1 << 16);
}

}  // namespace

torch::Dtype type_of(std::int64_t number) {
  constexpr std::array types{torch::kByte, torch::kChar, torch::kShort, torch::kInt,
                             torch::kLong, torch::kHalf, torch::kFloat, torch::kDouble};
  if (number >= 1 && number <= std::ssize(types)) return types[static_cast<std::size_t>(number - 1)];
  switch (number) {
    case 9: return torch::kComplexHalf;
    case 10: return torch::kComplexFloat;
    case 11: return torch::kComplexDouble;
    case 12: return torch::kBool;
    case 13: return torch::kBFloat16;
    default: throw Refusal("uses the number type " + std::to_string(number) + ", which is not known here");
  }
}

Archive::Archive(const std::filesystem::path& file)
    : mapping_(PrivateMapping::open(file, PrivateMapping::Access::read_only)), zip_(open_zip(*mapping_)) {
  folder_ = common_folder(zip_);
  for (const auto& [name, entry] : zip_.entries())
    if (!name.starts_with(folder_)) throw Refusal("is damaged: " + in_quotes(name) + " is in another folder");
  if (text("archive_format") != "pt2") throw Refusal("is not in the format pt2");
  if (zip_.entries().contains(folder_ + "archive_version") && text("archive_version") != "0")
    throw Refusal("is in version " + std::string(text("archive_version").substr(0, 20)) +
                  " of the archive's format; this program reads version 0");
  if (zip_.entries().contains(folder_ + "byteorder") && text("byteorder") != "little")
    throw Refusal("was written on a big-endian machine");
}

std::vector<std::string> Archive::programs() const {
  std::vector<std::string> names;
  const std::string prefix = folder_ + std::string(models);
  for (const auto& [name, entry] : zip_.entries())
    if (name.starts_with(prefix) && name.ends_with(json_ending))
      names.push_back(name.substr(prefix.size(), name.size() - prefix.size() - json_ending.size()));
  return names;
}

std::string_view Archive::text(const std::string& entry) const {
  try {
    const auto bytes = zip_.read(folder_ + entry);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  } catch (const std::runtime_error& error) {
    throw Refusal(std::string("cannot be used: ") + error.what());
  }
}

std::string_view Archive::program(const std::string& name) const {
  return text(std::string(models) + name + std::string(json_ending));
}

std::map<std::string, StoredTensor> Archive::tensors(const std::string& program) const {
  std::map<std::string, StoredTensor> all;
  for (const std::string kind : {"weights", "constants"}) {
    const std::string folder = "data/" + kind + "/";
    const std::string config = folder + program + "_" + kind + "_config.json";
    if (!zip_.entries().contains(folder_ + config)) {
      if (zip_.entries().contains(folder_ + folder + program + ".pt"))
        throw Refusal(
            "is in the format of torch 2.8 or older; write it again with a newer one: "
            "torch.export.save(torch.export.load(old), new)");
      throw Refusal("is damaged: its entry " + in_quotes(config) + " is missing");
    }
    try {
      const Json json = read_json(text(config));
      for (const auto& [name, item] : json.at("config").items()) {
        const StoredTensor tensor = stored_tensor(name, folder, item);
        if (!fits(tensor, bytes_of(tensor).size()))
          throw Refusal("is damaged: " + in_quotes(name) + " is larger than its data in the file");
        all.emplace(name, tensor);
      }
    } catch (const Json::exception&) {
      throw Refusal("is damaged: " + in_quotes(config) + " is not a list of tensors");
    } catch (const JsonError& error) {
      throw Refusal("is damaged: " + in_quotes(config) + ": " + error.what());
    }
  }
  return all;
}

std::span<std::byte> Archive::bytes_of(const StoredTensor& tensor) const {
  const auto found = zip_.entries().find(folder_ + tensor.entry);
  if (found == zip_.entries().end())
    throw Refusal("is damaged: its entry " + in_quotes(tensor.entry) + " is missing");
  return found->second.bytes;
}

torch::Tensor Archive::view(const StoredTensor& tensor) const {
  const OperatorModePause real;  // what is created here is no part of the model
  const auto options = torch::TensorOptions(tensor.type);
  if (bytes_needed(tensor) == 0) return torch::empty(tensor.sizes, options);
  std::span<std::byte> bytes;
  try {
    bytes = zip_.read(folder_ + tensor.entry);
  } catch (const std::runtime_error& error) {
    throw Refusal(std::string("cannot be used: ") + error.what());
  }
  const std::size_t element = torch::elementSize(tensor.type);
  const auto count = static_cast<std::int64_t>(bytes.size() / element);
  const auto alignment = std::min<std::size_t>(element, alignof(std::int64_t));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) {
    const torch::Tensor flat = torch::from_blob(bytes.data(), {count}, [file = mapping_](void*) {}, options);
    return flat.as_strided(tensor.sizes, tensor.strides, tensor.offset);
  }
  torch::Tensor flat = torch::empty({count}, options);
  std::memcpy(flat.mutable_data_ptr(), bytes.data(), flat.nbytes());
  return flat.as_strided(tensor.sizes, tensor.strides, tensor.offset);
}

void Archive::give_back(const StoredTensor& tensor) const { mapping_->give_back(bytes_of(tensor)); }

}  // namespace runner::exported
