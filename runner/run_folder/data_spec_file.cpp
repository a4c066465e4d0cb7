#include "runner/run_folder/data_spec_file.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "components/support/io/read_json.hpp"
#include "registry/wording.hpp"

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
  throw std::runtime_error(in_quotes(wanted) + " is not a type of numbers");
}

// A model is built for these numbers, so they are looked at first.
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

DataSpec read_data_spec(const std::string& text) try {
  const nlohmann::json json = read_json(text);
  DataSpec data;
  json.at("input_shape").get_to(data.input_shape);
  data.input_type = type_of(json.at("input_type"));
  json.at("target_shape").get_to(data.target_shape);
  data.target_type = type_of(json.at("target_type"));
  data.target_mean = json.value("target_mean", 0.0);  // older runs have none
  data.target_deviation = json.value("target_deviation", 1.0);
  json.at("classes").get_to(data.classes);
  json.at("class_names").get_to(data.class_names);
  json.at("vocabulary").get_to(data.vocabulary);
  json.at("categories").get_to(data.categories);
  json.at("images").get_to(data.images);
  json.at("mean").get_to(data.mean);
  json.at("deviation").get_to(data.deviation);
  json.at("train_examples").get_to(data.train_examples);
  require_sizes(data);
  return data;
} catch (const Json::exception& error) {
  throw std::runtime_error(error.what());
}

}  // namespace runner
