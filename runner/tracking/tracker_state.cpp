#include "runner/tracking/tracker_state.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "components/support/io/atomic_file.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::filesystem::path& path) {
  std::ifstream in(path);
  const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw std::runtime_error(path.string() + " is not what a tracker left there.");
  return json;
}

}  // namespace

bool TrackerStateFile::exists() const { return std::filesystem::exists(path_); }

State TrackerStateFile::read() const {
  const Json json = parsed(path_);
  State state;
  state.texts = json.value("texts", state.texts);
  state.integers = json.value("integers", state.integers);
  state.numbers = json.value("numbers", state.numbers);
  return state;
}

bool TrackerStateFile::ended() const { return parsed(path_).value("ended", false); }

void TrackerStateFile::write(const State& state, bool ended) {
  if (!state.tensors.empty() || !state.parts.empty())
    throw std::logic_error("The state of a tracker may hold texts, integers and numbers only.");
  const Json json{
      {"ended", ended}, {"texts", state.texts}, {"integers", state.integers}, {"numbers", state.numbers}};
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text == written_) return;
  std::filesystem::create_directories(path_.parent_path());
  AtomicFile file(path_);
  file.write(text);
  file.commit();
  written_ = std::move(text);
}

}  // namespace runner
