#include "runner/runs/tracking/item.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/trackers/path_below.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;  // written as CBOR: exact doubles, and arbitrary bytes

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

enum Kind : int { record, text, image, histogram, artifact, end };

Json::binary_t bytes_of(std::string_view text) { return Json::binary_t({text.begin(), text.end()}); }

std::string text_of(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

// Texts are stored as bytes, because they need not be UTF-8 as JSON strings must.
Json to_json(const Item& item) {
  return std::visit(
      Overloaded{[](const Record& each) {
                   Json values = Json::array();
                   for (const auto& [name, value] : each.values) {
                     values.push_back(bytes_of(name));
                     values.push_back(value);
                   }
                   return Json::array(
                       {Kind::record, each.step, each.epoch, each.time, each.wall_time, values});
                 },
                 [](const TextItem& each) {
                   return Json::array({Kind::text, bytes_of(each.tag), bytes_of(each.text), each.step});
                 },
                 [](const ImageItem& each) {
                   return Json::array({Kind::image, bytes_of(each.tag), bytes_of(each.image.png),
                                       each.image.height, each.image.width, each.step});
                 },
                 [](const HistogramItem& each) {
                   const Histogram& of = each.histogram;
                   return Json::array({Kind::histogram, bytes_of(each.tag), each.step, of.min, of.max,
                                       of.count, of.sum, of.sum_of_squares, of.limits, of.counts});
                 },
                 [](const ArtifactItem& each) {
                   return Json::array({Kind::artifact, bytes_of(each.name), bytes_of(each.file.string())});
                 },
                 [](const RunEnd& each) {
                   return Json::array({Kind::end, std::string(name_of(each.outcome)), bytes_of(each.message),
                                       each.wall_time});
                 }},
      item);
}

Record read_record(const Json& json) {
  Record record{json[1], json[2], json[3], {}, json[4]};
  const Json& values = json[5];
  for (std::size_t i = 0; i + 1 < values.size(); i += 2)
    record.values.emplace_back(text_of(values[i]), values[i + 1].get<double>());
  return record;
}

HistogramItem read_histogram(const Json& json) {
  return {text_of(json[1]),
          {json[3], json[4], json[5], json[6], json[7], json[8].get<std::vector<double>>(),
           json[9].get<std::vector<double>>()},
          json[2]};
}

Outcome outcome_named(const std::string& name) {
  for (const Outcome each : {Outcome::finished, Outcome::stopped, Outcome::interrupted, Outcome::failed})
    if (name == name_of(each)) return each;
  throw std::runtime_error("A run cannot end as " + in_quotes(name) + ".");
}

}  // namespace

void deliver(const Item& item, Tracker& tracker, const std::filesystem::path& run_folder) {
  std::visit(
      Overloaded{[&](const Record& each) { tracker.log(each); },
                 [&](const TextItem& each) { tracker.text(each.tag, each.text, each.step); },
                 [&](const ImageItem& each) { tracker.image(each.tag, each.image, each.step); },
                 [&](const HistogramItem& each) { tracker.histogram(each.tag, each.histogram, each.step); },
                 [&](const ArtifactItem& each) {
                   // The item may have been read from a run folder of somebody else.
                   const std::filesystem::path file = std::filesystem::absolute(run_folder / each.file);
                   if (path_below(run_folder, file)) return tracker.artifact(each.name, file);
                   log::warning("{} is not in the run folder, so it is not sent.",
                                shown_message(file.string()));
                 },
                 [&](const RunEnd& each) { tracker.finish(each); }},
      item);
}

bool is_kept(const Item& item, const RunFacts& facts) {
  return std::visit(Overloaded{[&](const auto& each) { return facts.keeps(each.step); },
                               [&](const Record& each) { return facts.keeps(each.step, each.epoch); },
                               [&](const ArtifactItem&) { return !facts.resumed_at; },
                               [&](const RunEnd&) { return !facts.resumed_at; }},
                    item);
}

std::string write_item(const Item& item) {
  std::string bytes;
  Json::to_cbor(to_json(item), bytes);
  return bytes;
}

Item read_item(std::string_view bytes) {
  const Json json = Json::from_cbor(bytes);
  switch (json[0].get<int>()) {
    case Kind::record: return read_record(json);
    case Kind::text: return TextItem{text_of(json[1]), text_of(json[2]), json[3]};
    case Kind::image: return ImageItem{text_of(json[1]), {text_of(json[2]), json[3], json[4]}, json[5]};
    case Kind::histogram: return read_histogram(json);
    case Kind::artifact: return ArtifactItem{text_of(json[1]), text_of(json[2])};
    default: return RunEnd{outcome_named(json[1].get<std::string>()), text_of(json[2]), json[3]};
  }
}

}  // namespace runner
