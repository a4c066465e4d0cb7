#include "runner/ranks/run_rank.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>
#include <sstream>

#include "runner/process/input_error.hpp"
#include "runner/ranks/sighting.hpp"
#include "runner/ranks/store_server.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

struct EndOfRank {
  int code = 0;
  Sighting seen;  // what it told the other ranks
};

EndOfRank end_of_rank(const std::function<int(World&)>& work) {
  constexpr auto secret = "0123456789abcdef";
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "secret";
  std::ofstream(file) << secret;
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  const StoreServer server(listen_on({"127.0.0.1", 0}), secret);
  Membership member{.place = {0, 1, 0, 1, "here"}};
  member.meet = {"127.0.0.1", server.port()};
  member.secret_file = file.string();

  const int status = in_child([&] {
    std::ostringstream messages;
    run_rank(member, {}, work, messages);
    return true;
  });
  REQUIRE(WIFEXITED(status));
  const auto text = server.get(attempt_name(0) + "/" + rank_key(0));
  REQUIRE(text);
  return {WEXITSTATUS(status), parse_sighting(*text)};
}

}  // namespace

TEST_CASE("run_rank: whatever its work throws, the rank says so and ends with an exit code") {
  const EndOfRank end = end_of_rank([](World&) -> int { throw 42; });
  CHECK(end.code == 1);
  CHECK(end.seen.phase == Sighting::Phase::failed);
  CHECK_THAT(end.seen.message, Catch::Matchers::ContainsSubstring("int"));
}

TEST_CASE("run_rank: bad input has an exit code of its own, as without ranks") {
  const EndOfRank end = end_of_rank([](World&) -> int { throw InputError("the checkpoint does not fit"); });
  CHECK(end.code == 2);
  CHECK(end.seen.phase == Sighting::Phase::failed);
}
