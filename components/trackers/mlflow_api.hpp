#pragma once

#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "components/trackers/http.hpp"

namespace runner {

// The server rejected a request (4xx).
struct MlflowRefusal : std::runtime_error {
  MlflowRefusal(long code_, std::string complaint_, const std::string& what)
      : std::runtime_error(what), code(code_), complaint(std::move(complaint_)) {}
  bool of_credentials() const { return code == 401 || code == 403; }

  long code;
  std::string complaint;  // the server's message
};

// MLflow's REST interface. Only a response in MLflow's own format counts: a proxy or a login page that
// answers instead has stored nothing. Throws MlflowRefusal, TrackerUnavailable if the request is worth
// repeating, and std::runtime_error if it is not. Not thread-safe.
class MlflowApi {
 public:
  using Json = nlohmann::ordered_json;

  explicit MlflowApi(const HttpAddress& address) : http_(address.url, address.credentials) {}

  Json get(const std::string& what, const std::string& key, const std::string& value);  // "runs/get", ..
  Json post(const std::string& what, const Json& question);
  Json get_run(const std::string& run);  // throws std::runtime_error if it was deleted
  void put(const std::string& artifact, const std::string& bytes);
  void put_file(const std::string& artifact, const std::filesystem::path& file);

  // Sends metrics or parameters of a run as one batch. MLflow rejects a whole batch because of one bad item,
  // so a rejected batch is halved until that item is found, and a warning names it. If every item is
  // rejected, something else may be wrong: MlflowRefusal is thrown if they are many, and std::runtime_error
  // if the run was deleted.
  void log_batch(const std::string& run, const char* kind, std::span<const Json> items);

  // How many points the run has of a metric, for each step.
  std::map<std::int64_t, std::size_t> history(const std::string& run, const std::string& metric);
  void hurry(double seconds) { http_.hurry(seconds); }

  const std::string& server() const { return http_.server(); }

 private:
  struct Refused {
    const Json* item;
    std::string complaint;
  };
  struct Tally {
    std::size_t taken = 0;
    std::vector<Refused> refused;
  };

  void log_batch(const std::string& run, const char* kind, std::span<const Json> items, Tally& tally);
  void warn(const Refused& refused);
  Json read(const HttpAnswer& answer) const;

  HttpSession http_;
  std::set<std::string> refused_;  // names that a warning has mentioned
};

}  // namespace runner
