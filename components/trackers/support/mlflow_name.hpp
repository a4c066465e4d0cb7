#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace runner {

// A name that MLflow allows for a metric, a parameter or a tag: letters, digits and "_-. :/", up to 250
// bytes, no path that leads upwards. Every character that is not among them becomes "_".
std::string mlflow_name(std::string_view name);

// The names of one run at MLflow. Different names stay different; one that is changed is a warning.
class MlflowNames {
 public:
  const std::string& of(const std::string& name);

 private:
  std::map<std::string, std::string> changed_;  // what each name became
  std::set<std::string> taken_;
};

}  // namespace runner
