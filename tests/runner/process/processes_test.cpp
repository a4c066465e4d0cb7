#include "runner/process/processes.hpp"

#include <sys/wait.h>

#include <catch2/catch_all.hpp>
#include <csignal>
#include <filesystem>

using namespace runner;

TEST_CASE("processes: exit codes are those of a shell") {
  CHECK(exit_code_of(W_EXITCODE(0, 0)) == 0);
  CHECK(exit_code_of(W_EXITCODE(3, 0)) == 3);
  CHECK(exit_code_of(W_EXITCODE(0, SIGKILL)) == 128 + SIGKILL);
}

TEST_CASE("processes: pointers end with a null pointer and point into the texts") {
  std::vector<std::string> texts{"one", ""};
  const std::vector<char*> all = pointers(texts);
  CHECK(all == std::vector<char*>{texts[0].data(), texts[1].data(), nullptr});
  CHECK(std::filesystem::exists(own_program()));
}
