#include "components/trackers/path_below.hpp"

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

TEST_CASE("a path below a folder is relative to it, however both are written") {
  CHECK(path_below("/runs/x", "/runs/x/best/model") == "best/model");
  CHECK(path_below("/runs/x/", "/runs/y/../x/model") == "model");
  CHECK(path_below("runs/x", std::filesystem::absolute("runs/x/model")) == "model");
  for (const char* elsewhere : {"/runs/xy/model", "/runs/model", "/runs/x/../y/model", "model"})
    CHECK_FALSE(path_below("/runs/x", elsewhere));
}

}  // namespace
}  // namespace runner
