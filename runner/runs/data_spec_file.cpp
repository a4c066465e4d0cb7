#include "runner/runs/data_spec_file.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, torch::Dtype>, 8> types{{{"float32", torch::kFloat32},
                                                                          {"float64", torch::kFloat64},
                                                                          {"float16", torch::kFloat16},
                                                                          {"bfloat16", torch::kBFloat16},
                                                                          {"uint8", torch::kUInt8},
                                                                          {"int32", torch::kInt32},
                                                                          {"int64", torch::kInt64},
                                                                          {"bool", torch::kBool}}};

std::string_view name_of(torch::Dtype type) {
  for (const auto& [name, known] : types) {
    if (known == type) return name;
  }
  throw std::logic_error(std::string("no name for numbers of type ") + torch::toString(type));
}

torch::Dtype type_of(const std::string& wanted) {
  for (const auto& [name, type] : types) {
    if (name == wanted) return type;
  }
  throw std::runtime_error(in_quotes(wanted) + " is not a number type");
}

// A model is built with these sizes, so those of a damaged file must not ask for absurd amounts of memory.
void require_sizes(const DataSpec& data) {
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  const auto sane = [&](std::int64_t size) { return size >= -1 && size <= largest; };
  for (const auto& shape : {data.input_shape, data.target_shape}) {
    if (shape.size() > 8 || !std::ranges::all_of(shape, sane))
      throw std::runtime_error("it holds a shape that no dataset has");
  }
  if (!sane(data.classes) || !sane(data.vocabulary) || !std::ranges::all_of(data.categories, sane))
    throw std::runtime_error("it holds a number of classes, tokens or categories that no dataset has");
}

}  // namespace

std::string write_data_spec(const DataSpec& data) {
  const Json json{{"input_shape", data.input_shape},
                  {"input_type", name_of(data.input_type)},
                  {"target_shape", data.target_shape},
                  {"target_type", name_of(data.target_type)},
                  {"target_mean", data.target_mean},
                  {"target_deviation", data.target_deviation},
                  {"classes", data.classes},
                  {"class_names", data.class_names},
                  {"vocabulary", data.vocabulary},
                  {"categories", data.categories},
                  {"images", data.images},
                  {"mean", data.mean},
                  {"deviation", data.deviation},
                  {"train_examples", data.train_examples}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

// Reads entries of the file. Throws if one is missing or has the wrong type.
class Entries {
 public:
  explicit Entries(const nlohmann::json& json) : json_(json) {
    if (!json.is_object()) throw std::runtime_error("it is not a JSON object");
  }

  template <class T>
  void read(const char* name, T& into) const {
    const auto found = json_.find(name);
    if (found == json_.end()) throw std::runtime_error("it has no " + in_quotes(name));
    try {
      found->get_to(into);
    } catch (const nlohmann::json::exception&) {
      throw std::runtime_error("its " + in_quotes(name) + " is of the wrong kind");
    }
  }
  template <class T>
  void read_if_present(const char* name, T& into) const {
    if (json_.contains(name)) read(name, into);
  }
  torch::Dtype type(const char* name) const {
    std::string text;
    read(name, text);
    return type_of(text);
  }

 private:
  const nlohmann::json& json_;
};

}  // namespace

DataSpec read_data_spec(const std::string& text) {
  const nlohmann::json json = read_json(text);
  const Entries entries(json);
  DataSpec data;
  entries.read("input_shape", data.input_shape);
  data.input_type = entries.type("input_type");
  entries.read("target_shape", data.target_shape);
  data.target_type = entries.type("target_type");
  entries.read_if_present("target_mean", data.target_mean);  // older runs have none
  entries.read_if_present("target_deviation", data.target_deviation);
  entries.read("classes", data.classes);
  entries.read("class_names", data.class_names);
  entries.read("vocabulary", data.vocabulary);
  entries.read("categories", data.categories);
  entries.read("images", data.images);
  entries.read("mean", data.mean);
  entries.read("deviation", data.deviation);
  entries.read("train_examples", data.train_examples);
  require_sizes(data);
  return data;
}

}  // namespace runner
