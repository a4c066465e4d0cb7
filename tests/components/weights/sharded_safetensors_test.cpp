#include "components/weights/sharded_safetensors.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

bool any_file(const std::string&) { return true; }

}  // namespace

TEST_CASE("sharded safetensors: what is written in several files is read back, and the index is sorted") {
  const TemporaryFolder folder;
  const auto files = write_sharded_safetensors(
      folder.path(), "model", {{"b", torch::ones({4})}, {"c", torch::zeros({4})}, {"a", torch::ones({2})}},
      16);
  CHECK(files.size() == 4);
  CHECK(read_text(folder / "model.safetensors.index.json") ==
        "{\n"
        "  \"metadata\": {\n"
        "    \"total_size\": 40\n"
        "  },\n"
        "  \"weight_map\": {\n"
        "    \"a\": \"model-00003-of-00003.safetensors\",\n"
        "    \"b\": \"model-00001-of-00003.safetensors\",\n"
        "    \"c\": \"model-00002-of-00003.safetensors\"\n"
        "  }\n"
        "}\n");
  const auto read = read_sharded_safetensors(folder.path(), "model", any_file);
  CHECK(read.size() == 3);
  CHECK(torch::equal(read.at("b"), torch::ones({4})));
}

TEST_CASE("sharded safetensors: files that do not hold what the index says are refused by name") {
  const TemporaryFolder folder;
  write_safetensors(folder / "1.safetensors", {{"a", torch::ones({2})}});
  write_safetensors(folder / "2.safetensors", {{"a", torch::zeros({2})}, {"b", torch::zeros({2})}});
  const auto refused = [&](const std::string& weight_map, const std::string& why) {
    write_file(folder / "model.safetensors.index.json", R"({"weight_map": )" + weight_map + "}");
    CHECK_THROWS_WITH(read_sharded_safetensors(folder.path(), "model", any_file), ContainsSubstring(why));
  };
  refused(R"({"a": "1.safetensors", "b": "2.safetensors"})", "2.safetensors: it has a tensor \"a\"");
  refused(R"({"a": "1.safetensors", "c": "1.safetensors"})", "1.safetensors: it has no tensor \"c\"");
}
