#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/engine/world.hpp"

namespace runner {

// Compares the files of checkpoints with their manifests on all ranks in parallel: each file is read by one
// rank. Rank 0 chooses the checkpoints, and the other ranks help.
class SharedVerification {
 public:
  explicit SharedVerification(World& world) : world_(world) {}

  // On rank 0, for any number of checkpoints. Empty: nothing is wrong.
  std::string damage_of(const std::filesystem::path& folder, const nlohmann::json& manifest);
  void finish();
  // On the other ranks: returns when rank 0 has finished. Throws std::runtime_error if this rank does not see
  // the checkpoint.
  void help();

 private:
  std::string agreed_damage(const std::filesystem::path& folder, const nlohmann::json& manifest);

  World& world_;
};

}  // namespace runner
