#pragma once

#include <functional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "components/trackers/support/http.hpp"

namespace runner {

// The server has understood a request, and does not carry it out.
struct MlflowRefusal : std::runtime_error {
  MlflowRefusal(long code_, std::string complaint_, const std::string& what)
      : std::runtime_error(what), code(code_), complaint(std::move(complaint_)) {}
  bool of_credentials() const { return code == 401 || code == 403; }

  long code;
  std::string complaint;  // in its own words
};

// MLflow's REST interface. Only an answer in MLflow's own format counts: a proxy or a login page that answers
// in its place has stored nothing. Throws MlflowRefusal, TrackerUnavailable where it is worth trying again,
// and std::runtime_error where it is not. For one thread.
class MlflowApi {
 public:
  using Json = nlohmann::ordered_json;

  explicit MlflowApi(const HttpAddress& address) : http_(address.url, address.credentials) {}

  Json get(const std::string& what, const std::string& key, const std::string& value);  // "runs/get", ..
  Json post(const std::string& what, const Json& question);
  void put(const std::string& artifact, const std::string& bytes);
  void put_file(const std::string& artifact, const std::filesystem::path& file);

  // Sends metrics or parameters of a run as one batch. MLflow refuses a whole batch because of one bad item:
  // then halves are sent until that item is found, and a warning names it. If it refuses every item,
  // something else is wrong, and an MlflowRefusal is thrown.
  void log_batch(const std::string& run, const char* kind, std::span<const Json> items);

  const std::string& server() const { return http_.server(); }

 private:
  struct Tally {
    std::size_t refused = 0, taken = 0;
  };

  void log_batch(const std::string& run, const char* kind, std::span<const Json> items, Tally& tally);
  Json read(const HttpAnswer& answer) const;

  HttpSession http_;
  std::set<std::string> refused_;  // that were named in a warning
};

}  // namespace runner
