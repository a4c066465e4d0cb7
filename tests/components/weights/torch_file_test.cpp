#include "components/weights/torch_file.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

std::filesystem::path fixture(const std::string& name) {
  const char* source = std::getenv("RUNNER_SOURCE_DIR");
  return std::filesystem::path(source ? source : ".") / "tests/components/weights/fixtures" / name;
}

void check_fixture_weights(const TorchFile& file) {
  REQUIRE(file.tensors.size() == 5);
  CHECK(torch::equal(file.tensors.at("fc.weight"), torch::arange(12.).view({3, 4}).t()));
  CHECK(torch::equal(file.tensors.at("fc.bias"), torch::arange(8., 12.)));
  CHECK(torch::equal(file.tensors.at("half"), torch::tensor({1.5, -2.0}).to(torch::kBFloat16)));
  CHECK(file.tensors.at("half").scalar_type() == torch::kBFloat16);
  CHECK(torch::equal(file.tensors.at("steps"), torch::tensor(7)));
  CHECK(file.tensors.at("none").sizes() == torch::IntArrayRef{0, 3});
  CHECK(file.others.empty());
}

std::filesystem::path saved(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder / "changed.pt";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

TEST_CASE("torch.save files: the zip layout, the old one, and nested dictionaries") {
  const TorchFile zip = read_torch_file(fixture("zip.pt"));
  CHECK(zip.layout == "zip");
  check_fixture_weights(zip);
  CHECK(zip.tensors.at("fc.weight").storage().data() == zip.tensors.at("fc.bias").storage().data());

  const TorchFile old = read_torch_file(fixture("old_layout.pt"));
  CHECK(old.layout == "old layout");
  check_fixture_weights(old);

  const TorchFile nested = read_torch_file(fixture("nested.pt"));
  CHECK(nested.found_in == "state_dict");
  check_fixture_weights(nested);
}

TEST_CASE("torch.save files: code in them is named and not executed") {
  for (const std::string name : {"attack_zip.pt", "attack_old_layout.pt"}) {
    CHECK_THROWS_WITH(read_torch_file(fixture(name)),
                      ContainsSubstring("asks for posix.system") && ContainsSubstring(name));
  }
  CHECK_FALSE(std::filesystem::exists("/tmp/runner-was-attacked"));
}

TEST_CASE("torch.save files: cut off anywhere, they are refused") {
  const TemporaryFolder folder;
  for (const std::string name : {"zip.pt", "old_layout.pt"}) {
    const std::string whole = read_text(fixture(name));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      INFO(name << " cut to " << length);
      CHECK_THROWS_AS(read_torch_file(saved(folder, whole.substr(0, length))), std::runtime_error);
    }
  }
}

TEST_CASE("torch.save files: with any byte changed, they are read or refused, never more") {
  const TemporaryFolder folder;
  for (const std::string name : {"zip.pt", "old_layout.pt"}) {
    const std::string whole = read_text(fixture(name));
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      try {
        for (const auto& [key, tensor] : read_torch_file(saved(folder, changed)).tensors) tensor.clone();
      } catch (const std::runtime_error&) {
        ++refused;
      }
    }
    INFO(name);
    CHECK(refused > whole.size() / 4);
  }
}

TEST_CASE("torch.save files: a damaged storage is noticed by its checksum") {
  const TemporaryFolder folder;
  std::string bytes = read_text(fixture("zip.pt"));
  const std::string one("\0\0\x80\x3f\0\0\0\x40", 8);  // 1.0f, 2.0f
  const auto at = bytes.find(one);
  REQUIRE(at != std::string::npos);
  bytes[at] = 1;
  CHECK_THROWS_WITH(read_torch_file(saved(folder, bytes)), ContainsSubstring("checksum differs"));
}

TEST_CASE("torch.save files: big-endian machines") {
  const TemporaryFolder folder;
  std::string bytes = read_text(fixture("zip.pt"));
  // The same length, so that only the entry's checksum has to be set aside: 0 means that there is none.
  const auto at = bytes.find("little");
  REQUIRE(at != std::string::npos);
  bytes.replace(at, 6, "bigbig");
  const std::string checksum("\x85\x3d\xe3\x19", 4);
  for (auto found = bytes.find(checksum); found != std::string::npos; found = bytes.find(checksum)) {
    bytes.replace(found, 4, std::string(4, '\0'));
  }
  CHECK_THROWS_WITH(read_torch_file(saved(folder, bytes)), ContainsSubstring("big-endian"));

  std::string old = read_text(fixture("old_layout.pt"));
  const auto key = old.find("little_endian");
  REQUIRE(key != std::string::npos);
  const auto flag = old.find('\x88', key);
  old[flag] = '\x89';
  CHECK_THROWS_WITH(read_torch_file(saved(folder, old)), ContainsSubstring("big-endian"));
}

TEST_CASE("torch.save files: a shape that LibTorch refuses is reported with the file's name") {
  const TemporaryFolder folder;
  std::string bytes = read_text(fixture("old_layout.pt"));
  const std::string shape("K\0K\3\x86q)K\3K\1\x86q*", 14);  // sizes (0, 3) and strides (3, 1), as pickles
  const auto at = bytes.find(shape);
  REQUIRE(at != std::string::npos);
  const std::string large("K\0\x8a\x08\0\0\0\0\0\0\0\x40K\4\x87q)K\3K\1K\1\x87q*", 26);  // (0, 2^62, 4)
  bytes.replace(at, shape.size(), large);
  CHECK_THROWS_WITH(read_torch_file(saved(folder, bytes)),
                    ContainsSubstring("changed.pt: ") && EndsWith("overflowed."));
}

TEST_CASE("torch.save files: other files") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_torch_file(saved(folder, "hello")),
                    ContainsSubstring("torch.save did not write it"));
  CHECK_THROWS_WITH(read_torch_file(saved(folder, "PK\3\4")), ContainsSubstring("not complete"));
  CHECK_THROWS_WITH(read_torch_file(folder / "none"), ContainsSubstring("No such file"));
}
