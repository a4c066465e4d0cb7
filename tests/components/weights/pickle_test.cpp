#include "components/weights/pickle.hpp"

#include <catch2/catch_all.hpp>

#include "components/weights/torch_pickle.hpp"
#include "components/weights/weights_dict.hpp"

using namespace runner::pickle;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

// Keeps text and machine alive as long as the result is looked at.
struct Loaded {
  explicit Loaded(std::string text_) : text(std::move(text_)) { root = &unpickler.load(); }

  std::string text;
  TorchVocabulary vocabulary;
  Unpickler unpickler{std::as_bytes(std::span(text)), vocabulary};
  const Object* root = nullptr;
};

std::string little_endian(std::uint64_t number, std::size_t width) {
  return {reinterpret_cast<const char*>(&number), width};
}

std::string repeated(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// A storage of float with that many elements, and a tensor on it.
std::string storage(const std::string& elements) {
  return "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpu"s + elements + "tQ";
}
std::string tensor(const std::string& elements, const std::string& offset, const std::string& sizes,
                   const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n("s + storage(elements) + offset + sizes + strides + "\x89}tR.";
}

}  // namespace

TEST_CASE("pickle: numbers, strings and containers of every protocol") {
  const auto integer = [](const std::string& text) { return *Loaded(text).root->as<std::int64_t>(); };
  CHECK(integer("K\xff.") == 255);
  CHECK(integer("M\x34\x12.") == 0x1234);
  CHECK(integer("J\xfe\xff\xff\xff.") == -2);
  CHECK(integer("I42\n.") == 42);
  CHECK(integer("L-42L\n.") == -42);
  CHECK(integer("\x8a\0."s) == 0);
  CHECK(integer("\x8a\x01\xff.") == -1);
  CHECK(integer("\x8a\x02\xff\0."s) == 255);
  CHECK(integer("\x8a\x08\0\0\0\0\0\0\0\x80."s) == std::numeric_limits<std::int64_t>::min());
  CHECK(Loaded("\x8a\x09\0\0\0\0\0\0\0\0\x01."s).root->as<BigInteger>());
  CHECK(*Loaded("G\x3f\xf8\0\0\0\0\0\0."s).root->as<double>() == 1.5);
  CHECK(*Loaded("F1.5\n.").root->as<double>() == 1.5);
  CHECK(*Loaded("I01\n.").root->as<bool>());
  CHECK(*Loaded("\x88.").root->as<bool>());
  CHECK(Loaded("N.").root->as<None>());
  CHECK(*Loaded("\x80\x04\x95\x05\0\0\0\0\0\0\0\x8c\x03"s + "abc\x94.").root->as<std::string>() == "abc");
  CHECK(*Loaded("S'abc'\n.").root->as<std::string>() == "abc");
  CHECK(Loaded("C\x02"s + "ab.").root->as<Bytes>()->data == "ab");
  CHECK(
      Loaded("c_codecs\nencode\nX\x04\0\0\0a\xc3\xbf\x62X\x06\0\0\0latin1\x86R."s).root->as<Bytes>()->data ==
      "a\xff"
      "b");

  const Loaded list(
      "](K\x01K\x02"
      "eK\x03"
      "a.");
  CHECK(list.root->as<List>()->items.size() == 3);
  const Loaded dict("}(X\x01\0\0\0aK\x01X\x01\0\0\0bK\x02u."s);
  REQUIRE(dict.root->as<Dict>()->items.size() == 2);
  CHECK(*dict.root->as<Dict>()->items[1].first->as<std::string>() == "b");
  const Loaded ordered(
      "ccollections\nOrderedDict\n](]K\x01"
      "aK\x02"
      "ae\x85R.");
  CHECK(ordered.root->as<Dict>()->items.size() == 1);
}

TEST_CASE("pickle: every other global is refused by name") {
  for (const std::string name :
       {"os.system", "builtins.eval", "torch.load", "torch.hub.load", "numpy.core.multiarray.scalar",
        "argparse.Namespace", "torch._utils._rebuild_qtensor", "builtins.getattr"}) {
    INFO(name);
    const auto dot = name.rfind('.');
    const std::string module = name.substr(0, dot), attribute = name.substr(dot + 1);
    CHECK_THROWS_WITH(Loaded("c" + module + "\n" + attribute + "\n."),
                      ContainsSubstring("the file asks for " + name));
    const auto text = [](const std::string& word) { return "\x8c"s + static_cast<char>(word.size()) + word; };
    CHECK_THROWS_WITH(Loaded(text(module) + text(attribute) + "\x93."),
                      ContainsSubstring("the file asks for " + name));
    CHECK_THROWS_WITH(Loaded("(X\x02\0\0\0idi"s + module + "\n" + attribute + "\n."),
                      ContainsSubstring("the file asks for " + name));
  }
}

TEST_CASE("pickle: what does not end or does not make sense is refused") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "ends in the middle"},
      {"K", "ends in the middle"},
      {"X\xff\xff\xff\xff"
       "abc.",
       "ends in the middle"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
       "abc.",
       "ends in the middle"},
      {"B\xff\xff\xff\x7f"
       "abc.",
       "ends in the middle"},
      {"\x8b\xff\xff\xff\xff.", "ends in the middle"},
      {"cos", "ends in the middle"},
      {".", "malformed"},
      {"0.", "malformed"},
      {"(.", "malformed"},
      {"e.", "malformed"},
      {"\x87.", "malformed"},
      {"K\x01K\x02"
       "a.",
       "as a list that is none"},
      {"K\x01(K\x02K\x03u.", "as a dictionary that is none"},
      {"}(K\x01u.", "key without a value"},
      {"h\x07.", "did not describe"},
      {"gx\n.", "malformed number"},
      {"I12x\n.", "malformed number"},
      {"Fnope\n.", "malformed number"},
      {"\x80\x09.", "protocol 9"},
      {"\x82\x01.", "instruction 130"},
      {"\xff.", "instruction 255"},
      {"P1\n.", "instruction 80"},
      {"K\x01)R.", "not a function"},
      {"]}b.", "as a dictionary that is none"},
      {"ctorch\nFloatStorage\n)R.", "torch.save does not write"},
      {"ctorch._utils\n_rebuild_tensor_v2\n)R.", "torch.save does not write"},
      {"K\x01Q.", "torch.save does not write"},
  };
  for (const auto& [text, reason] : cases) {
    INFO(text);
    CHECK_THROWS_WITH(Loaded(text), ContainsSubstring(reason));
  }
}

TEST_CASE("pickle: tensors have to lie in their storages") {
  CHECK(Loaded(tensor("K\x06", "K\0"s, "K\x02K\x03\x86", "K\x03K\x01\x86"))
            .root->as<std::shared_ptr<const TensorRecord>>());
  CHECK(Loaded(tensor("K\0"s, "K\0"s, "K\0\x85"s, "K\x01\x85"))
            .root->as<std::shared_ptr<const TensorRecord>>());
  const std::string big = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  for (const auto& text : {
           tensor("K\x06", "K\x01", "K\x02K\x03\x86", "K\x03K\x01\x86"),  // one element beyond
           tensor("K\x06", "K\0"s, "K\x02K\x03\x86", "K\x04K\x01\x86"),
           tensor("K\x06", "J\xff\xff\xff\xff", "K\x02\x85", "K\x01\x85"),
           tensor("K\x06", "K\0"s, "K\x02\x85", "J\xff\xff\xff\xff\x85"),
           tensor("K\x06", "K\0"s, "J\xff\xff\xff\xff\x85", "K\x01\x85"),
           tensor("K\x06", "K\0"s, "K\x02\x85", ")"),
           tensor("K\x06", "K\0"s, big + "\x85", big + "\x85"),
           tensor("K\x06", big, "K\x02\x85", big + "\x85"),
           tensor(big, "K\0"s, "K\x01\x85", "K\x01\x85"),
           tensor("J\xff\xff\xff\xff", "K\0"s, "K\x01\x85", "K\x01\x85"),
       }) {
    CHECK_THROWS_AS(Loaded(text), PickleError);
  }
}

TEST_CASE("pickle: small files that would fill the memory are stopped") {
  SECTION("more objects than any file of weights") {
    CHECK_THROWS_WITH(Loaded(repeated(5'000'000, "N") + "."), ContainsSubstring("more objects"));
  }
  SECTION("one object, over and over") {
    CHECK_THROWS_WITH(Loaded("N" + repeated(25'000'000, "2") + "."), ContainsSubstring("longer than"));
  }
  SECTION("a long list, copied over and over") {
    const std::string list = "](" + repeated(100'000, "N") +
                             "e\x85q\1"
                             "0";
    CHECK_THROWS_WITH(Loaded("cbuiltins\nset\nq\0000"s + list + repeated(10'000, "h\0h\1R"s) + "."),
                      ContainsSubstring("longer than"));
  }
  SECTION("a long text, copied over and over") {
    const std::string text = "X" + little_endian(1'000'000, 4) + std::string(1'000'000, 'a') +
                             "X\x06\0\0\0latin1\x86q\1"
                             "0"s;
    CHECK_THROWS_WITH(Loaded("c_codecs\nencode\nq\0000"s + text + repeated(10'000, "h\0h\1R"s) + "."),
                      ContainsSubstring("longer than"));
  }
}

TEST_CASE("pickle: nesting, circles and doubling are read, and searched, in no time") {
  SECTION("a million lists in each other") {
    const Loaded deep(repeated(1'000'000, "]") + repeated(999'999, "a") + ".");
    CHECK(deep.root->as<List>()->items.size() == 1);
    CHECK_THROWS_WITH(find_weights(*deep.root), ContainsSubstring("no weights"));
  }
  SECTION("dictionaries in each other") {
    const Loaded deep(repeated(100'000, "}X\1\0\0\0a"s) + "N" + repeated(100'000, "s") + ".");
    CHECK_THROWS_WITH(find_weights(*deep.root), ContainsSubstring("no weights"));
  }
  SECTION("a dictionary that holds itself") {
    const Loaded circle("}q\0X\5\0\0\0modelh\0s."s);
    CHECK_THROWS_WITH(find_weights(*circle.root), ContainsSubstring("no weights"));
  }
  SECTION("each dictionary holds the one before many times") {
    std::string text = "}q\0"s;
    for (int level = 0; level < 50; ++level) {
      std::string dict = "}(";
      for (char key = 'a'; key <= 'z'; ++key) dict += "X\1\0\0\0"s + key + "h\0"s;
      text += dict + "uq\0"s;
    }
    const Loaded laughs(text + ".");
    CHECK_THROWS_WITH(find_weights(*laughs.root), ContainsSubstring("no weights"));
  }
}
