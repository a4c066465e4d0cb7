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

  // Points or parameters of a run: one batch. MLflow refuses a whole batch for one item that it does not
  // like: halves are sent until that one is found, and named in a warning. Where it likes none, something
  // else is wrong: that is an MlflowRefusal.
  void log_batch(const std::string& run, const char* kind, std::span<const Json> items);

  const std::string& server() const { return http_.server(); }

 private:
  struct Tally {
    std::size_t refused = 0, taken = 0;
  };

  void log_batch(const std::string& run, const char* kind, std::span<const Json> items, Tally& tally);
  Json read(const HttpAnswer& answer) const;

  HttpSession http_;
  std::set<std::string> refused_;  // of which the user was told
};

}  // namespace runner
