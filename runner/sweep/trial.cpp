#include "runner/sweep/trial.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "components/trackers/append_file.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"
#include "runner/terminal/text.hpp"

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

Trial::Outcome outcome_of(int exit_code, bool given_up, bool interrupted) {
  if (exit_code == 0) return Trial::Outcome::finished;
  if (exit_code <= 128) return Trial::Outcome::failed;
  if (given_up) return Trial::Outcome::stopped_early;
  return interrupted ? Trial::Outcome::unfinished : Trial::Outcome::failed;
}

TrialJournal::TrialJournal(std::filesystem::path file, std::size_t parameters) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) return;
  cut_unfinished_line(file_);
  std::ifstream lines(file_);
  const auto require_readable = [&] {  // the sweep would begin again
    if (!lines.is_open() || lines.bad())
      throw std::runtime_error("Cannot read " + file_.string() + ": " + std::strerror(errno) + ".");
  };
  require_readable();
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
      if (trial.point.size() != parameters)
        throw std::runtime_error("trial " + std::to_string(number) + " has " +
                                 counted(trial.point.size(), "value") + " for " +
                                 counted(parameters, "parameter"));
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
  require_readable();
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
