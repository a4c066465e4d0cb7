#include "components/torch/torch_error.hpp"

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string reason(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return reason_of(error);
  }
  return "nothing went wrong";
}

TEST_CASE("an error of LibTorch is one line without its sources") {
  const std::string said = reason([] { torch::zeros({2, 3}).matmul(torch::zeros({2, 3})); });
  CHECK_THAT(said, ContainsSubstring("shapes cannot be multiplied"));
  CHECK(said.find('\n') == said.npos);
  CHECK_THAT(said, !ContainsSubstring("frame #") && !ContainsSubstring("Exception raised"));
}

TEST_CASE("running out of memory is reported with the size alone") {
  CHECK(reason([] { torch::empty({std::int64_t{1} << 50}); }) ==
        "not enough memory: 4504 TB could not be allocated");
}

// As LSTMs in fp16 give it on CPUs without instructions for it.
TEST_CASE("a layer that oneDNN cannot compute is reported with a remedy") {
  const std::string said = reason([] {
    throw std::runtime_error(
        "could not create a primitive descriptor for the LSTM forward propagation primitive. Run workload "
        "with environment variable ONEDNN_VERBOSE=all to get additional diagnostic information.");
  });
  CHECK_THAT(said, ContainsSubstring("LSTM") && ContainsSubstring("precision=fp32"));
  CHECK_THAT(said, !ContainsSubstring("ONEDNN_VERBOSE"));
}

TEST_CASE("messages that are not from LibTorch stay as they are") {
  CHECK(reason([] { throw std::runtime_error("two\nlines"); }) == "two\nlines");
}

}  // namespace
}  // namespace runner
