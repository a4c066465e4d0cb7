#include "registry/files/content_cache.hpp"

#include <atomic>
#include <catch2/catch_all.hpp>
#include <thread>

#include "registry/base/log.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t plenty = 1 << 20;

std::vector<std::uint8_t> bytes(std::size_t count, char value = 'x') {
  return std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(value));
}

std::string text(const CachedBytes& cached) { return {cached.bytes.begin(), cached.bytes.end()}; }

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

}  // namespace

TEST_CASE("content cache: what was made once is found again") {
  const TemporaryFolder folder;
  int made = 0;
  const auto make = [&] { return ++made, bytes(3); };
  CHECK(text(ContentCache(folder.path(), plenty).get("a", make)) == "xxx");
  CHECK(text(ContentCache(folder.path(), plenty).get("a", make)) == "xxx");
  CHECK(made == 1);
  CHECK(files_in(folder.path()) == 1);  // no locks are left
}

TEST_CASE("content cache: one of those who ask at once makes it, and the others wait") {
  const TemporaryFolder folder;
  std::atomic<int> made = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto found = ContentCache(folder.path(), plenty).get("a", [&] { return ++made, bytes(1000); });
      if (found.bytes.size() != 1000) made = 100;
    });
  }
  threads.clear();
  CHECK(made == 1);
}

TEST_CASE("content cache: it stays below its size, and what was used last stays") {
  const TemporaryFolder folder;
  const ContentCache cache(folder.path(), 250);
  const auto hundred = [] { return bytes(100); };
  cache.get("a", hundred);
  const CachedBytes used = cache.get("b", hundred);
  fs::last_write_time(folder / "a", fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(folder / "b", fs::file_time_type::clock::now() - std::chrono::hours(3));
  cache.get("b", hundred);  // later than "a" now
  cache.get("c", hundred);
  CHECK_FALSE(fs::exists(folder / "a"));
  CHECK(fs::exists(folder / "b"));
  CHECK(fs::exists(folder / "c"));
  CHECK(text(cache.get("d", [] { return bytes(1000, 'y'); })) == std::string(1000, 'y'));  // too large
  CHECK_FALSE(fs::exists(folder / "d"));
  CHECK(fs::exists(folder / "c"));
  fs::remove(folder / "b");
  CHECK(text(used) == std::string(100, 'x'));  // whoever has it keeps it
}

TEST_CASE("content cache: unfinished files of killed processes are removed, those of living ones are not") {
  const TemporaryFolder folder;
  const auto two_days_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const char* old : {".a.tokens.77-1", ".b.tokens.lock"})
    fs::last_write_time(write_file(folder / old, "x"), two_days_ago);
  write_file(folder / ".c.tokens.78-1", "x");
  ContentCache(folder.path(), plenty).get("d", [] { return bytes(3); });
  CHECK_FALSE(fs::exists(folder / ".a.tokens.77-1"));
  CHECK(fs::exists(folder / ".b.tokens.lock"));
  CHECK(fs::exists(folder / ".c.tokens.78-1"));
}

TEST_CASE("content cache: where it cannot be written, things are made in memory") {
  const log::Silence silence;
  const TemporaryFolder folder;
  write_file(folder / "file", "no folder");
  CHECK(text(ContentCache(folder / "file", plenty).get("a", [] { return bytes(3); })) == "xxx");
  CHECK(text(ContentCache({}, plenty).get("a", [] { return bytes(3); })) == "xxx");
}

TEST_CASE("content cache: what cannot be made leaves nothing, and is tried again") {
  const TemporaryFolder folder;
  const ContentCache cache(folder.path(), plenty);
  CHECK_THROWS_WITH(cache.get("a", []() -> std::vector<std::uint8_t> { throw std::runtime_error("no"); }),
                    "no");
  CHECK(text(cache.get("a", [] { return bytes(3); })) == "xxx");
}
