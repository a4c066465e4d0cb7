#include "components/datasets/columns/table_columns.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

using Json = nlohmann::ordered_json;

namespace {

// The inputs are looked up among the columns of a row, with or without the target.
void require_known_columns(const TableColumns& columns) {
  std::set<std::string_view> unused(columns.file.begin(), columns.file.end());
  const auto use = [&](const std::string& name) {
    if (unused.erase(name) == 0)
      throw IoError("dataset.json does not describe the columns of a table: it has no column " +
                    in_quotes(name) + ", or uses it twice.");
  };
  use(columns.target);
  for (const NumericColumn& column : columns.numeric) use(column.name);
  for (const CategoricalColumn& column : columns.categorical) use(column.name);
}

}  // namespace

std::string TableColumns::json() const {
  Json numbers = Json::array(), categories = Json::array();
  for (const NumericColumn& column : numeric) {
    numbers.push_back({{"name", column.name},
                       {"mean", column.mean},
                       {"deviation", column.deviation},
                       {"fill", column.fill},
                       {"indicator", column.indicator}});
  }
  for (const CategoricalColumn& column : categorical) {
    categories.push_back({{"name", column.name}, {"values", column.values}});
  }
  const Json all{{"columns", file},
                 {"numeric", numbers},
                 {"categorical", categories},
                 {"target", target},
                 {"classes", classes},
                 {"target_mean", target_mean},
                 {"target_deviation", target_deviation},
                 {"separator", std::string(1, separator)}};
  return all.dump(1) + "\n";
}

TableColumns TableColumns::from_json(const std::string& text) {
  try {
    const nlohmann::json all = read_json(text);
    TableColumns columns;
    all.at("columns").get_to(columns.file);
    all.at("target").get_to(columns.target);
    all.at("classes").get_to(columns.classes);
    columns.target_mean = all.value("target_mean", 0.0);
    columns.target_deviation = all.value("target_deviation", 1.0);
    if (const std::string separator = all.value("separator", ","); separator.size() == 1)
      columns.separator = separator.front();
    for (const auto& column : all.at("numeric")) {
      columns.numeric.push_back({column.at("name"), column.at("mean"), column.at("deviation"),
                                 column.at("fill"), column.at("indicator")});
    }
    for (const auto& column : all.at("categorical")) {
      columns.categorical.push_back({column.at("name"), column.at("values")});
    }
    require_known_columns(columns);
    return columns;
  } catch (const nlohmann::json::exception&) {  // the library's message would not help
    throw IoError(
        "dataset.json does not describe the columns of a table: an entry is missing or of the wrong kind.");
  } catch (const JsonError& error) {
    throw IoError("dataset.json does not describe the columns of a table: " + std::string(error.what()) +
                  ".");
  }
}

}  // namespace runner
