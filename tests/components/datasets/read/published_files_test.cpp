#include "components/datasets/read/published_files.hpp"

#include <catch2/catch_all.hpp>

#include "registry/resolve_path.hpp"
#include "tests/support/files.hpp"

namespace runner {

using testing::EnvironmentVariable;

TEST_CASE("what is downloaded goes below XDG_CACHE_HOME, or else below the home folder") {
  const EnvironmentVariable home{"HOME", "/home/me"};
  {
    const EnvironmentVariable cache{"XDG_CACHE_HOME", "/caches"};
    CHECK(cache_folder() == "/caches/runner");
  }
  const EnvironmentVariable no_cache{"XDG_CACHE_HOME", ""};
  CHECK(cache_folder() == "/home/me/.cache/runner");
}

TEST_CASE("without HOME, the cache is in the home folder that the system knows") {
  const EnvironmentVariable no_home{"HOME", ""}, no_cache{"XDG_CACHE_HOME", ""};
  if (home_folder().empty()) SKIP("the system does not know this user");
  CHECK(cache_folder() == home_folder() / ".cache" / "runner");
}

}  // namespace runner
