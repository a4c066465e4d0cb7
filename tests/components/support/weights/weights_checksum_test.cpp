#include "components/support/weights/weights_checksum.hpp"

#include <catch2/catch_all.hpp>

#include "components/models/support/load_weights.hpp"
#include "components/support/io/open_file.hpp"
#include "components/support/weights/safetensors.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("weights checksum: every name, type, shape and value counts") {
  const torch::Tensor ones = torch::ones({2, 3});
  const std::string checksum = weights_checksum({{"weight", ones}});
  CHECK(checksum == weights_checksum({{"weight", ones.t().contiguous().t()}}));  // the layout does not
  torch::Tensor one_differs = ones.clone();
  one_differs[1][2] = 1.0000001;
  CHECK(checksum != weights_checksum({{"weight", one_differs}}));
  CHECK(checksum != weights_checksum({{"bias", ones}}));
  CHECK(checksum != weights_checksum({{"weight", ones.reshape({3, 2})}}));
  CHECK(checksum != weights_checksum({{"weight", ones.view(torch::kInt32)}}));
  CHECK(checksum != weights_checksum({{"weight", ones}, {"more", torch::empty({0})}}));
}

TEST_CASE("weights checksum: a file with one wrong bit is refused by its name") {
  const TemporaryFolder folder;
  const auto path = folder / "model.safetensors";
  save_weights({{"weight", torch::rand({1000})}, {"bias", torch::rand({3}, torch::kFloat64)}}, path);
  require_intact_weights(path);
  std::string bytes = read_file(path, 1 << 20);
  bytes[bytes.size() - 1000] = static_cast<char>(bytes[bytes.size() - 1000] ^ 1);
  write_file(path, bytes);
  CHECK_THROWS_WITH(require_intact_weights(path),
                    ContainsSubstring(path.string()) && ContainsSubstring("do not match its checksum"));
}

TEST_CASE("weights checksum: a file without one is as good as its header") {
  const TemporaryFolder folder;
  write_safetensors(folder / "other.safetensors", {{"weight", torch::rand({10})}});
  require_intact_weights(folder / "other.safetensors");
  CHECK_THROWS(require_intact_weights(folder / "missing.safetensors"));
}
