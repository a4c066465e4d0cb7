#include "components/weights/weights_checksum.hpp"

#include <catch2/catch_all.hpp>

#include "components/models/weights/load_weights.hpp"
#include "components/weights/safetensors.hpp"
#include "registry/files/open_file.hpp"
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

TEST_CASE("weights checksum: the metadata counts, except the checksum itself") {
  const std::map<std::string, torch::Tensor> tensors{{"weight", torch::ones({2})}};
  const std::string checksum = weights_checksum(tensors, {{"value", "0.5"}});
  CHECK(checksum == weights_checksum(tensors, {{"value", "0.5"}, {checksum_key, "any"}}));
  CHECK(checksum != weights_checksum(tensors, {{"value", "0.25"}}));
  CHECK(checksum != weights_checksum(tensors));
}

TEST_CASE("weights checksum: a file with a wrong bit is refused wherever weights are read, with a remedy") {
  const TemporaryFolder folder;
  const auto path = folder / "mine.safetensors";
  save_weights({{"weight", torch::ones({4})}}, path);
  CHECK(read_weight_files(path).tensors.contains("weight"));
  Metadata metadata = read_safetensors_metadata(path);
  write_safetensors(path, {{"weight", torch::zeros({4})}}, metadata);  // by a tool that keeps the metadata
  CHECK_THROWS_WITH(read_weight_files(path),
                    ContainsSubstring(path.string()) && ContainsSubstring("remove \"runner.checksum\""));
  metadata.erase(checksum_key);
  write_safetensors(path, {{"weight", torch::zeros({4})}}, metadata);
  CHECK(read_weight_files(path).tensors.at("weight").sum().item<double>() == 0);
}

TEST_CASE("weights checksum: a tensor that cannot be written is named") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(save_weights({{"empty", torch::Tensor()}}, folder / "model.safetensors"),
                    ContainsSubstring("tensor \"empty\" is undefined"));
  CHECK_THROWS_WITH(save_weights({{"sparse", torch::ones({2, 2}).to_sparse()}}, folder / "model.safetensors"),
                    ContainsSubstring("tensor \"sparse\" has the type"));
}

TEST_CASE("weights checksum: a file without one is as good as its header") {
  const TemporaryFolder folder;
  write_safetensors(folder / "other.safetensors", {{"weight", torch::rand({10})}});
  require_intact_weights(folder / "other.safetensors");
  CHECK_THROWS(require_intact_weights(folder / "missing.safetensors"));
}
