// A real server judges the rest, in tests/python/test_trackers_mlflow.py.
#include <catch2/catch_all.hpp>

#include "components/trackers/http.hpp"
#include "components/trackers/mlflow_name.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/tracker_files.hpp"
#include "registry/base/log.hpp"
#include "tests/support/files.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;

TEST_CASE("mlflow: names that MLflow does not allow become ones that it does") {
  CHECK(mlflow_name("train/loss") == "train/loss");
  CHECK(mlflow_name("a b-c_d.e:f/9") == "a b-c_d.e:f/9");
  CHECK(mlflow_name("gr\xc3\xb6\xc3\x9f"
                    "e/\xff") == "gr__e/_");
  CHECK(mlflow_name("") == "_");
  CHECK(mlflow_name("..") == "_..");
  CHECK(mlflow_name("/a//b/") == "_a_/b_");
  CHECK(mlflow_name(std::string(300, 'x')).size() == 250);
  CHECK(mlflow_name("./a") == "_/a");
  CHECK(mlflow_name("a/.") == "a_.");
  CHECK(mlflow_name("a/..") == "a_..");
  CHECK(mlflow_name(".." + std::string(300, 'x')).size() == 250);
}

TEST_CASE("mlflow: different names stay different") {
  const log::Silence quiet;
  MlflowNames names;
  CHECK(names.of("gr\xc3\xb6\xc3\x9f"
                 "e") == "gr__e");
  const std::string second = names.of(
      "gr\xc3\xbc\xc3\x9f"
      "e");
  CHECK_THAT(second, Catch::Matchers::StartsWith("gr__e_"));
  CHECK(names.of("gr\xc3\xbc\xc3\x9f"
                 "e") == second);
  const std::string start(260, 'x');
  CHECK(names.of(start + "1") != names.of(start + "2"));
  CHECK(names.of(start + "2").size() <= 250);
}

TEST_CASE("mlflow: user and password are taken out of an address") {
  const HttpAddress address = parse_http_address("https://me:p%40ss%2Fword@host:5000/mlflow/");
  CHECK(address.url == "https://host:5000/mlflow/");
  CHECK(address.credentials.user == "me");
  CHECK(address.credentials.password == "p@ss/word");
  CHECK(parse_http_address("http://127.0.0.1:5000").url == "http://127.0.0.1:5000/");
  for (const char* other :
       {"sqlite:///me:secret@x", "http://me:sec@ret@host", "databricks", "host:5000", "file:///tmp/x", ""}) {
    CAPTURE(other);
    CHECK_THROWS_WITH(parse_http_address(other), ContainsSubstring("http://") && !ContainsSubstring("ret@"));
  }
}

TEST_CASE("mlflow: a password in the recipe is refused") {
  CHECK_THROWS_WITH(
      part<TrackerKind>("mlflow", {{"url", "http://me:secret@host:5000"}}),
      ContainsSubstring("must not hold a password") && ContainsSubstring("MLFLOW_TRACKING_PASSWORD"));
  CHECK_THROWS_WITH(part<TrackerKind>("mlflow", {{"url", "http://host/?token=secret"}}),
                    ContainsSubstring("without"));
  CHECK_THROWS_WITH(part<TrackerKind>("mlflow", {{"url", "host:5000"}}),
                    ContainsSubstring("must start with"));
}

TEST_CASE("file names of long tags are short enough, and stay different") {
  const std::string start(400, 'x');
  CHECK(file_name_of("a/b c.png") == "a_b_c.png");
  CHECK(file_name_of("класс/кот") != file_name_of("класс/пёс"));  // one would replace the other
  CHECK(file_name_of(start + "1").size() <= 120);
  CHECK(file_name_of(start + "1") != file_name_of(start + "2"));
}

TEST_CASE("mlflow: a slow connection gets the time to upload a model") {
  CHECK(longest_request_seconds(0) <= 30);
  CHECK(longest_request_seconds(100'000'000) >= 100'000'000 / 500'000);  // at 4 Mbit/s
}

TEST_CASE("mlflow: nobody listens, and that is worth another try; no address is not") {
  auto tracker = part<TrackerKind>("mlflow", {{"url", "http://127.0.0.1:1"}}).build({});
  CHECK_THROWS_AS(tracker->start({"x", {}, {}, {}}), TrackerUnavailable);
  CHECK(tracker->save().empty());
  ::unsetenv("MLFLOW_TRACKING_URI");
  CHECK_THROWS_WITH(part<TrackerKind>("mlflow").build({})->start({"x", {}, {}, {}}),
                    ContainsSubstring("MLFLOW_TRACKING_URI"));
}

TEST_CASE("mlflow: a server that answers without an end is not listened to") {
  const testing::EnvironmentVariable no_proxy{"no_proxy", "127.0.0.1"};
  const testing::HttpServer server({.body = std::string(1 << 20, 'x'), .endless = true});
  auto tracker = part<TrackerKind>("mlflow", {{"url", server.url("")}}).build({});
  CHECK_THROWS_WITH(tracker->start({"x", {}, {}, {}}), ContainsSubstring("more than 64 MB"));
}

}  // namespace
}  // namespace runner
