#include "components/models/exported/write_program.hpp"

#include <caffe2/serialize/inline_container.h>

#include <cstring>
#include <map>

#include "components/models/exported/archive.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/mapping_guard.hpp"

namespace runner::exported {

namespace {

// The tensors of the file that lie in each of its entries.
using ByEntry = std::multimap<std::string, std::pair<StoredTensor, torch::Tensor>>;

ByEntry trained_by_entry(const Archive& archive, const torch::nn::Module& trained) {
  std::map<std::string, torch::Tensor> values;
  for (const auto& item : trained.named_parameters()) values[item.key()] = item.value().detach();
  for (const auto& item : trained.named_buffers()) values[item.key()] = item.value();
  ByEntry found;
  for (const std::string& program : archive.programs())
    for (const auto& [name, stored] : archive.tensors(program)) {
      const auto value = values.find(name);
      if (value == values.end()) continue;
      if (value->second.sizes() != stored.sizes)
        throw Refusal("is not the file that the run was started with: " + in_quotes(name) +
                      " has another shape");
      found.emplace(stored.entry, std::pair(stored, value->second));
    }
  return found;
}

// The entry's bytes, with new values where tensors lie.
torch::Tensor filled(std::span<const std::byte> bytes, ByEntry::const_iterator first,
                     ByEntry::const_iterator last) {
  torch::Tensor raw = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kByte);
  std::memcpy(raw.mutable_data_ptr(), bytes.data(), bytes.size());
  for (; first != last; ++first) {
    const auto& [stored, value] = first->second;
    if (value.numel() == 0) continue;
    const auto element = static_cast<std::int64_t>(torch::elementSize(stored.type));
    const torch::Tensor flat = raw.narrow(0, 0, raw.numel() / element * element).view(stored.type);
    torch::Tensor into = flat.as_strided(stored.sizes, stored.strides, stored.offset);
    if (into.is_non_overlapping_and_dense()) {
      into.copy_(value);
    } else if (!torch::equal(into, value)) {
      throw Refusal(
          "has a parameter whose elements shared their memory before training; clone it before the export");
    }
  }
  return raw;
}

}  // namespace

void write_program(const std::filesystem::path& source, const torch::nn::Module& trained,
                   const std::filesystem::path& out) {
  const torch::NoGradGuard no_grad;
  const Archive archive(source);
  const ByEntry values = trained_by_entry(archive, trained);
  AtomicFile file(out);
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    file.write({static_cast<const std::byte*>(data), size});
    return size;
  });
  constexpr std::uint64_t version_of_pt2 = 6;
  writer.setMinVersion(version_of_pt2);
  for (const auto& [path, entry] : archive.entries()) {
    const std::string name = archive.name_in_folder(path);
    if (name.starts_with(".data/") || name == "byteorder") continue;  // the writer has its own
    const auto [first, last] = values.equal_range(name);
    if (first == last) {
      writer.writeRecord(name, entry.bytes.data(), entry.bytes.size());
    } else {
      const torch::Tensor changed = filled(entry.bytes, first, last);
      writer.writeRecord(name, changed.const_data_ptr(), changed.nbytes());
    }
  }
  writer.writeEndOfFile();
  require_whole_files();
  file.commit();
}

}  // namespace runner::exported
