#include "runner/ranks/join.hpp"

#include <catch2/catch_all.hpp>

#include <filesystem>
#include <future>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

// Nothing listens there any longer.
Address free_address() {
  const FileDescriptor socket = listen_on({"127.0.0.1", 0});
  return {"127.0.0.1", port_of(socket)};
}

Membership rank_of_torchrun(int rank, const Address& meet) {
  Membership member{Membership::Launcher::torchrun, Place{rank, 2, rank, 2, "host", "machine"}};
  member.meet = meet;
  member.serves_store = rank == 0;
  return member;
}

}  // namespace

TEST_CASE("join: without a store of torchrun, rank 0 serves it") {
  const Address meet = free_address();
  const auto any_as = [&](int rank) {
    const auto world = join_world(rank_of_torchrun(rank, meet), {.timeout = 60s});
    const bool any = world->any(rank == 1, "the test");
    world->barrier("the end of the test");
    return any;
  };
  auto other = std::async(std::launch::async, any_as, 1);
  CHECK(any_as(0));
  CHECK(other.get());
}

TEST_CASE("join: ranks of torchrun that do not meet say where they tried to") {
  const int rank = GENERATE(0, 1);
  CAPTURE(rank);
  const Membership member = rank_of_torchrun(rank, free_address());
  CHECK_THROWS_WITH(join_world(member, {.timeout = 300ms}), ContainsSubstring(to_string(*member.meet)) &&
                                                                ContainsSubstring("MASTER_ADDR") &&
                                                                !ContainsSubstring("frame #"));
}

TEST_CASE("join: ranks of mpirun whose port is taken say how to choose another") {
  const int rank = GENERATE(0, 1);
  CAPTURE(rank);
  const TemporaryFolder folder;
  write_file(folder / "secret", "a secret of the tests");
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::owner_read);
  const FileDescriptor taken = listen_on({"127.0.0.1", 0});  // and never answers
  Membership member{Membership::Launcher::mpirun, Place{rank, 2, rank, 2, "host", "machine"}};
  member.meet = {"127.0.0.1", port_of(taken)};
  member.secret_file = (folder / "secret").string();
  CHECK_THROWS_WITH(join_world(member, {.timeout = 300ms}),
                    ContainsSubstring(to_string(*member.meet)) && ContainsSubstring("MASTER_PORT"));
}
