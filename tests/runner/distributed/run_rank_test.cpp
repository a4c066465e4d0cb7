#include "runner/distributed/run_rank.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>
#include <sstream>

#include "runner/distributed/sighting.hpp"
#include "runner/distributed/store_server.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("run_rank: whatever its work throws, the rank says so and ends with an exit code") {
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
    run_rank(member, {}, [](World&) -> int { throw 42; }, messages);
    return true;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  const auto text = server.get(attempt_name(0) + "/" + rank_key(0));
  REQUIRE(text);
  const Sighting seen = parse_sighting(*text);
  CHECK(seen.state == Sighting::State::failed);
  CHECK_THAT(seen.message, Catch::Matchers::ContainsSubstring("int"));
}
