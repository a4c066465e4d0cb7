#include "runner/ranks/launch/visible_gpus.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

std::string shown(int gpu, Environment environment) {
  show_only_gpu(gpu, environment);
  return environment.at("CUDA_VISIBLE_DEVICES");
}

}  // namespace

TEST_CASE("visible_gpus: a rank gets one of the GPUs that its launcher may use") {
  CHECK(shown(2, {}) == "2");
  CHECK(shown(0, {{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}) == "4");
  CHECK(shown(3, {{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}) == "7");
  CHECK(shown(1, {{"CUDA_VISIBLE_DEVICES", "GPU-8932f937,MIG-1f2e"}}) == "MIG-1f2e");
}

TEST_CASE("visible_gpus: an empty list means that no GPU is visible") {
  CHECK_FALSE(listed_gpus({}));
  REQUIRE(listed_gpus({{"CUDA_VISIBLE_DEVICES", ""}}));
  CHECK(listed_gpus({{"CUDA_VISIBLE_DEVICES", ""}})->empty());
}
