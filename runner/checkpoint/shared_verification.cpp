#include "runner/checkpoint/shared_verification.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "runner/checkpoint/manifest.hpp"

namespace runner {

namespace {

constexpr auto which = "the checkpoint to verify", checksums = "the checksums of a checkpoint";

nlohmann::json manifest_seen_here(const std::filesystem::path& folder, const World& world) {
  try {
    return read_manifest(folder);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        log::format("Rank {} cannot read the checkpoint that rank 0 found: {} All ranks need the run folder "
                    "under the same path, on a shared disk.",
                    world.rank(), error.what()));
  }
}

}  // namespace

std::string SharedVerification::damage_of(const std::filesystem::path& folder,
                                          const nlohmann::json& manifest) {
  world_.broadcast_text(std::filesystem::absolute(folder).string(), 0, which);
  return agreed_damage(folder, manifest);
}

void SharedVerification::finish() { world_.broadcast_text("", 0, which); }

void SharedVerification::help() {
  for (;;) {
    const std::string folder = world_.broadcast_text("", 0, which);
    if (folder.empty()) return;
    agreed_damage(folder, manifest_seen_here(folder, world_));
  }
}

std::string SharedVerification::agreed_damage(const std::filesystem::path& folder,
                                              const nlohmann::json& manifest) {
  const std::string own = runner::damage_of(folder, manifest, {world_.rank(), world_.size()});
  world_.wait_for_all(checksums);  // not a collective: may take longer than their timeout
  for (const std::string& damage : world_.gather_texts(own, checksums))
    if (!damage.empty()) return damage;
  return "";
}

}  // namespace runner
