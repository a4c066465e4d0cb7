#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace runner {

// Turns a name into one that MLflow allows for a metric, a parameter or a tag: letters, digits and "_-. :/",
// up to 250 bytes, no ".." path. Every other character becomes "_".
std::string mlflow_name(std::string_view name);

// The names of one run in MLflow. Different names stay different. Warns about each name that it changes.
class MlflowNames {
 public:
  const std::string& of(const std::string& name);

 private:
  std::map<std::string, std::string> changed_;  // what each name became
  std::set<std::string> taken_;
};

}  // namespace runner
