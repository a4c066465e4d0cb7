// The program with one component more, a tracker with a secret: no component that is shipped has one.
#include <fstream>

#include "components/trackers/tracker.hpp"
#include "runner/main.cpp"

namespace runner {
namespace {

struct Vault {
  std::string token;
  std::int64_t level = 1;
};
constexpr auto describe(std::type_identity<Vault>) {
  return fields(field("token", &Vault::token, "Opens it.", required(), non_empty(), secret()),
                field("level", &Vault::level, "How deep.", within(1, 9)));
}

// Says how long its secret is: it has arrived.
class VaultTracker : public Tracker {
 public:
  VaultTracker(Vault settings, std::filesystem::path folder)
      : settings_(std::move(settings)), folder_(folder) {}
  void start(const RunFacts&) override { std::ofstream(folder_ / "vault.txt") << settings_.token.size(); }
  void log(const Record&) override {}

 private:
  Vault settings_;
  std::filesystem::path folder_;
};

std::unique_ptr<Tracker> build(const Vault& settings, const TrackerInputs& inputs) {
  return std::make_unique<VaultTracker>(settings, inputs.folder);
}

const Registration<TrackerKind> registration{"vault", "Has a secret.", &build};

}  // namespace
}  // namespace runner
