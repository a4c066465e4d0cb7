#include "runner/runs/tracking/tracker_state.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "registry/files/atomic_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/state_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

template <class Parse>
auto parsed(const std::filesystem::path& path, Parse parse) {
  try {
    return parse(read_json_file(path));
  } catch (const JsonError&) {
  } catch (const Json::exception&) {
  } catch (const StateError&) {
  }
  throw std::runtime_error(
      path.string() +
      " is damaged: it does not hold the state of a tracker. Delete it; the tracker then "
      "starts a new run.");
}

}  // namespace

bool TrackerStateFile::exists() const { return std::filesystem::exists(path_); }

State TrackerStateFile::read() const {
  return parsed(path_, [](const auto& json) { return state_from_json(json.at("state"), {}, ""); });
}

bool TrackerStateFile::ended() const {
  return parsed(path_, [](const auto& json) { return json.value("ended", false); });
}

void TrackerStateFile::write(const State& state, bool ended) {
  if (!state.tensors.empty()) throw std::logic_error("The state of a tracker may not hold tensors.");
  const Json json{{"ended", ended}, {"state", to_json(state)}};
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text == written_) return;
  std::filesystem::create_directories(path_.parent_path());
  AtomicFile file(path_);
  file.write(text);
  file.commit();
  written_ = std::move(text);
}

}  // namespace runner
