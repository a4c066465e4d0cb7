#include "registry/files/private_mapping.hpp"

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <vector>

#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Access = PrivateMapping::Access;

namespace {

constexpr std::size_t page = 4096;

std::filesystem::path file_of(const TemporaryFolder& folder, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i / page + 1);
  std::ofstream(folder / "file", std::ios::binary) << text;
  return folder / "file";
}

}  // namespace

TEST_CASE("private mapping: memory that was given back is read again") {
  const TemporaryFolder folder;
  const auto file = PrivateMapping::open(file_of(folder, 5 * page + 10), Access::read_only);
  const auto bytes = file->bytes();
  REQUIRE(bytes.size() == 5 * page + 10);
  file->will_need(bytes);
  for (int round = 0; round < 2; ++round) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] == std::byte(i / page + 1) ? 0 : 1;
    CHECK(wrong == 0);
    file->give_back(bytes.subspan(page + 5, 2 * page));
    file->give_back(bytes.last(3));
  }
  CHECK(file->contains(bytes.data()));
  CHECK(file->contains(&bytes.back()));
  CHECK_FALSE(file->contains(bytes.data() + bytes.size()));
}

TEST_CASE("private mapping: what was written is not given back, and neither is other memory") {
  const TemporaryFolder folder;
  const auto path = file_of(folder, 2 * page);
  const auto writable = PrivateMapping::open(path);
  std::ranges::fill(writable->bytes(), std::byte{9});
  writable->give_back(writable->bytes());
  CHECK(std::ranges::all_of(writable->bytes(), [](std::byte each) { return each == std::byte{9}; }));

  const auto read_only = PrivateMapping::open(path, Access::read_only);
  std::vector<std::byte> own(64 * page, std::byte{7});
  read_only->give_back(own);
  CHECK(std::ranges::all_of(own, [](std::byte each) { return each == std::byte{7}; }));
}
