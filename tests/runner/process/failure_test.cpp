#include "runner/process/failure.hpp"

#include <catch2/catch_all.hpp>
#include <filesystem>

using namespace runner;

TEST_CASE("failure: a path that cannot be used is named, without the words of the library") {
  const std::filesystem::filesystem_error error("directory iterator cannot open directory", "/root/x",
                                                std::make_error_code(std::errc::permission_denied));
  CHECK(failure_text(error) == "Cannot use /root/x: Permission denied.");
  const std::filesystem::filesystem_error without_path(
      "cannot get current path", std::make_error_code(std::errc::no_such_file_or_directory));
  CHECK_THAT(failure_text(without_path), Catch::Matchers::ContainsSubstring("cannot get current path"));
}
