#include "components/weights/safetensors.hpp"

#include <sys/resource.h>

#include <catch2/catch_all.hpp>
#include <csignal>

#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// A file with this header, whatever it says, and this much data.
std::filesystem::path made(const TemporaryFolder& folder, const std::string& header, std::size_t data) {
  const auto path = folder / "made.safetensors";
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string(data, '\1');
  return path;
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("safetensors: what is written is read back, in every type, shape and layout") {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, torch::Tensor>> tensors{
      {"scalar", torch::tensor(3.5)},
      {"empty", torch::empty({0, 4})},
      {"é \"quoted\"\n", torch::arange(3)},
      {"transposed", torch::arange(6.).view({2, 3}).t()},
      {"channels_last", torch::rand({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast)},
      {"with_gradient", torch::rand({2}).requires_grad_()},
  };
  for (const auto type :
       {torch::kFloat64, torch::kFloat16, torch::kBFloat16, torch::kInt64, torch::kInt32, torch::kInt16,
        torch::kInt8, torch::kUInt8, torch::kBool, torch::kFloat8_e4m3fn, torch::kFloat8_e5m2, torch::kUInt16,
        torch::kUInt32, torch::kUInt64, torch::kComplexFloat}) {
    tensors.emplace_back(torch::toString(type), torch::tensor({0., 1., 1., 0., 1.}).to(type));
  }
  const auto path = folder / "all.safetensors";
  write_safetensors(path, tensors, {{"format", "pt"}, {"note", "ä\n"}});

  auto read = read_safetensors(path);
  REQUIRE(read.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    REQUIRE(read.contains(name));
    const auto& back = read.at(name);
    CHECK(back.scalar_type() == tensor.scalar_type());
    CHECK(back.sizes() == tensor.sizes());
    CHECK(back.is_contiguous());
    CHECK(torch::equal(back.view(-1).view(torch::kUInt8),
                       tensor.detach().contiguous().view(-1).view(torch::kUInt8)));
  }
  CHECK(read_safetensors_metadata(path) == Metadata{{"format", "pt"}, {"note", "ä\n"}});
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("safetensors: tensors outlive the file and may be written to") {
  const TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  write_safetensors(path, {{"a", torch::zeros({1000})}});
  const auto tensor = read_safetensors(path).at("a");
  tensor.fill_(2);
  CHECK(read_safetensors(path).at("a").sum().item<float>() == 0);
  std::filesystem::remove(path);
  CHECK(tensor.sum().item<float>() == 2000);
}

TEST_CASE("safetensors: tensors that are not aligned in the file are read all the same") {
  const TemporaryFolder folder;
  const auto path = made(folder,
                         R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("b":{"dtype":"I32","shape":[2],"data_offsets":[1,9]}})",
                         9);
  CHECK(torch::equal(read_safetensors(path).at("b"), torch::full({2}, 0x01010101, torch::kInt32)));
}

TEST_CASE("safetensors: a broken file is refused, with its name and the reason") {
  const auto tensor = [](const std::string& rest) { return R"({"a":{)" + rest + "}}"; };
  struct Case {
    std::string header;
    std::size_t data;
    std::string reason;
  };
  const auto one = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const Case cases[] = {
      {tensor(one), 7, "tensor \"a\" reaches beyond the end of the file"},
      {tensor(one), 9, "1 bytes at its end belong to no tensor"},
      {"", 0, "not valid JSON"},
      {"[]", 0, "not a JSON object"},
      {"{\"a\":", 0, "not valid JSON"},
      {"{\"a\":1}", 0, "tensor \"a\" has no description"},
      {"\xff\xfe", 0, "not valid JSON"},
      {std::string(1'000'000, '['), 0, "not a JSON object"},
      {R"({"a":{"shape":)" + std::string(100'000, '['), 0, "nested too deep"},
      {R"({"a":{"a":{"a":{}}}})", 0, "no safetensors file has"},
      {R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
       0, "\"a\" is in its header twice"},
      {R"({"__metadata__":{"x":1}})", 0, "metadata \"x\" is not a string"},
      {tensor(R"("shape":[2],"data_offsets":[0,8])"), 8, "has no \"dtype\""},
      {tensor(R"("dtype":"F32","shape":[2])"), 8, "has no \"data_offsets\""},
      {tensor(R"("dtype":"Q3","shape":[2],"data_offsets":[0,8])"), 8, "type \"Q3\", which is not supported"},
      {tensor(R"("dtype":1,"shape":[2],"data_offsets":[0,8])"), 8, "not a string"},
      {tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8, "not a list"},
      {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8, "not a count: -2"},
      {tensor(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), 8, "not a count: 2.5"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8,
       "larger than any memory"},
      {tensor(R"("dtype":"U8","shape":[0,4611686018427387904,2],"data_offsets":[0,0])"), 0,
       "larger than any memory"},
      {tensor(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])"), 8, "not a count"},
      {tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8, "should have 12 bytes"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8, "ends before it begins"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-1,7])"), 8, "not two positions"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8, "not two positions"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12, "preceded by bytes"},
      {tensor(std::string(one) + R"(,"extra":1)"), 8, "no safetensors file has"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6, "tensor \"b\" overlaps \"a\""},
  };
  const TemporaryFolder folder;
  for (const Case& each : cases) {
    INFO(each.header.substr(0, 200));
    CHECK_THROWS_WITH(read_safetensors(made(folder, each.header, each.data)),
                      ContainsSubstring(each.reason) && ContainsSubstring("made.safetensors"));
  }
}

TEST_CASE("safetensors: files that are something else") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_safetensors(folder / "none"),
                    ContainsSubstring("none") && ContainsSubstring("No such file"));
  CHECK_THROWS_WITH(read_safetensors(folder.path()), ContainsSubstring("folder"));
  std::ofstream(folder / "empty").flush();
  CHECK_THROWS_WITH(read_safetensors(folder / "empty"), ContainsSubstring("too short"));
  std::ofstream(folder / "huge") << std::string(16, '\xff');
  CHECK_THROWS_WITH(read_safetensors(folder / "huge"), ContainsSubstring("header claims"));
  std::ofstream(folder / "cut") << std::string("\x40\0\0\0\0\0\0\0{}", 10);
  CHECK_THROWS_WITH(read_safetensors(folder / "cut"), ContainsSubstring("truncated"));
}

TEST_CASE("safetensors: what cannot be written leaves what was there") {
  const TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  write_safetensors(path, {{"a", torch::ones({2})}});
  const auto before = read_text(path);

  CHECK_THROWS_WITH(write_safetensors(path, {{"a", torch::ones({1})}, {"a", torch::ones({1})}}),
                    ContainsSubstring("two tensors"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"a", torch::Tensor()}}), ContainsSubstring("undefined"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"__metadata__", torch::ones({1})}}),
                    ContainsSubstring("__metadata__"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"\xff", torch::ones({1})}}), ContainsSubstring("UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(folder / "no/such/a", {{"a", torch::ones({1})}}),
                    ContainsSubstring("No such file"));
  const auto more_than_can_be_read = std::vector(500'001, std::pair(std::string("a"), torch::Tensor()));
  CHECK_THROWS_WITH(write_safetensors(path, more_than_can_be_read), ContainsSubstring("500001"));
  CHECK(read_text(path) == before);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("safetensors: a disk that fills up while writing") {
  const TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  write_safetensors(path, {{"a", torch::ones({2})}});
  const auto before = read_text(path);

  // A limit on file size fails in the same place as a full disk, and needs no disk of its own.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write_safetensors(path, {{"a", torch::ones({100'000})}});
  } catch (const std::exception& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);

  CHECK_THAT(message, ContainsSubstring("Cannot write") && ContainsSubstring("a.safetensors") &&
                          ContainsSubstring("too large"));
  CHECK(read_text(path) == before);
  CHECK(files_in(folder.path()) == 1);
}
