#include "runner/sweep/trial.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "components/support/io/read_json.hpp"
#include "components/trackers/support/append_file.hpp"
#include "registry/wording.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

Trial::Outcome outcome_of(const std::string& text) {
  for (const auto outcome :
       {Trial::Outcome::finished, Trial::Outcome::stopped_early, Trial::Outcome::failed}) {
    if (to_string(outcome) == text) return outcome;
  }
  throw std::runtime_error(in_quotes(text) + " is not an outcome of a trial");
}

}  // namespace

std::string to_string(Trial::Outcome outcome) {
  switch (outcome) {
    case Trial::Outcome::finished: return "finished";
    case Trial::Outcome::stopped_early: return "stopped early";
    case Trial::Outcome::failed: return "failed";
    case Trial::Outcome::unfinished: break;
  }
  return "unfinished";
}

TrialJournal::TrialJournal(std::filesystem::path file) : file_(std::move(file)) {
  cut_unfinished_line(file_);
  std::ifstream lines(file_);
  try {
    for (std::string line; std::getline(lines, line);) {
      const Json json = read_json(line);
      const auto number = json.at("trial").get<std::size_t>();
      if (number > trials_.size())
        throw std::runtime_error("trial " + std::to_string(trials_.size()) + " is missing");
      if (number == trials_.size()) trials_.push_back({.number = static_cast<std::int64_t>(number)});
      Trial& trial = trials_[number];
      if (json.contains("point"))
        trial = {.number = trial.number, .point = json.at("point"), .threads = json.value("threads", 0)};
      if (!json.contains("outcome")) continue;
      trial.outcome = outcome_of(json.at("outcome"));
      if (json.contains("value")) trial.value = json.at("value").get<double>();
      trial.step = json.value("step", 0.0);
      trial.seconds = json.value("seconds", 0.0);
      trial.message = json.value("message", "");
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(file_.string() + " cannot be read: " + error.what() +
                             ". Give the sweep another folder with --dir.");
  }
}

void TrialJournal::start(const Trial& trial) {
  if (trial.number == std::ssize(trials_)) trials_.emplace_back();
  trials_.at(static_cast<std::size_t>(trial.number)) = trial;
  append(Json{{"trial", trial.number}, {"point", trial.point}, {"threads", trial.threads}}.dump());
}

void TrialJournal::end(const Trial& trial) {
  trials_.at(static_cast<std::size_t>(trial.number)) = trial;
  Json json{{"trial", trial.number}, {"outcome", to_string(trial.outcome)}};
  if (trial.value) json["value"] = *trial.value;
  json["step"] = trial.step;
  json["seconds"] = trial.seconds;
  if (!trial.message.empty()) json["message"] = trial.message;
  append(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void TrialJournal::append(const std::string& line) { AppendFile(file_).append(line + "\n"); }

}  // namespace runner
