// What each service is told about how a run ended: only a failure and an interruption are no success.
#include <catch2/catch_all.hpp>

#include <fstream>
#include <initializer_list>

#include <protozero/pbf_reader.hpp>

#include "components/trackers/chunk_log.hpp"
#include "components/trackers/record_file.hpp"
#include "components/trackers/tracker.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::part;
using testing::read_text;
using testing::TemporaryFolder;

constexpr auto outcomes = {Outcome::finished, Outcome::stopped, Outcome::interrupted, Outcome::failed};

// The file with this ending that a tracker wrote of a run that ended like this.
std::filesystem::path file_of_run(const char* name, const TemporaryFolder& folder, Outcome outcome,
                                  std::string_view ending) {
  auto tracker = part<TrackerKind>(name).build({folder / std::string(name_of(outcome))});
  RunFacts facts{"x", folder / std::string(name_of(outcome)), {}, {}};
  facts.id = "0123456789abcdef0123456789abcdef";
  facts.started_at = 1700000000;
  tracker->start(facts);
  tracker->finish({outcome, {}, 1700000001});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(facts.folder))
    if (entry.path().string().ends_with(ending)) return entry.path();
  throw std::runtime_error("The tracker wrote no such file.");
}

// The integer at the end of this path of fields; nothing if the record has no such field.
std::optional<int> number_at(std::string_view record, std::initializer_list<std::uint32_t> path) {
  protozero::pbf_reader reader(record.data(), record.size());
  for (const std::uint32_t field : path) {
    if (!reader.next(field)) return std::nullopt;
    if (reader.wire_type() == protozero::pbf_wire_type::varint) return reader.get_int32();
    reader = reader.get_message();
  }
  return std::nullopt;
}

std::vector<int> numbers_in_chunk_logs(const char* name, std::string_view header, std::string_view ending,
                                       std::initializer_list<std::uint32_t> path) {
  TemporaryFolder folder;
  std::vector<int> numbers;
  for (const Outcome outcome : outcomes)
    read_chunk_log(file_of_run(name, folder, outcome, ending), header, [&](std::string_view record) {
      if (const auto number = number_at(record, path)) numbers.push_back(*number);
    });
  return numbers;
}

TEST_CASE("wandb: exit code 0 for a success, 255 for an interruption, 1 for a failure") {
  CHECK(numbers_in_chunk_logs("wandb", {":W&B\xE1\xBE\0", 7}, ".wandb", {18, 1}) ==
        std::vector{0, 0, 255, 1});
}

TEST_CASE("swanlab: finished for a success, aborted for an interruption, crashed for a failure") {
  CHECK(numbers_in_chunk_logs("swanlab", {":SWL\xD6\xE1\x02", 7}, ".swanlab", {11, 1}) ==
        std::vector{1, 1, 3, 2});
}

TEST_CASE("tensorboard: success, and failure also for an interruption") {
  TemporaryFolder folder;
  std::vector<int> statuses;
  for (const Outcome outcome : outcomes) {
    std::ifstream in(file_of_run("tensorboard", folder, outcome, ".0123456789abcdef0123456789abcdef"),
                     std::ios::binary);
    while (const auto record = read_record(in))
      if (const auto status = number_at(*record, {5, 1, 9, 1, 2, 4, 1})) statuses.push_back(*status);
  }
  CHECK(statuses == std::vector{1, 1, 2, 2});
}

TEST_CASE("comet: the name of the outcome") {
  TemporaryFolder folder;
  for (const Outcome outcome : outcomes) {
    const std::string messages = read_text(file_of_run("comet", folder, outcome, "-messages.json"));
    CHECK(messages.find("\"value\":\"" + std::string(name_of(outcome)) + "\"") != std::string::npos);
  }
}

}  // namespace
}  // namespace runner
