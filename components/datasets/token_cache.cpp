#include "components/datasets/token_cache.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "components/datasets/read/published_files.hpp"
#include "registry/files/content_cache.hpp"
#include "registry/files/sha256.hpp"
#include "registry/value.hpp"

namespace runner {

namespace {

constexpr std::size_t worth_keeping = std::size_t{1} << 20;
constexpr std::uintmax_t most_bytes = std::uintmax_t{16} << 30;

ContentCache cache() {
  const std::filesystem::path folder = cache_folder();
  return {folder.empty() ? folder : folder / "tokens", most_bytes};
}

// The name of a cache file: a hash of texts, each with its length, so that their boundaries count, too.
class Name {
 public:
  Name& add(std::string_view text) {
    const std::string length = std::to_string(text.size()) + ":";
    for (const std::string_view part : {std::string_view(length), text})
      digest_.update({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
    return *this;
  }
  std::string hex() { return digest_.hex(); }

 private:
  Sha256 digest_;
};

bool is_main_program(const Dl_info& library) {
  Dl_info main{};
  return dladdr(reinterpret_cast<const void*>(getauxval(AT_PHDR)), &main) != 0 &&
         main.dli_fbase == library.dli_fbase;
}

// Identifies the build of the library or program that this address belongs to: another build may learn and
// encode differently.
std::string build_at(const void* address) {
  Dl_info library{};
  struct stat file{};
  if (dladdr(address, &library) == 0) return "";
  if (stat(is_main_program(library) ? "/proc/self/exe" : library.dli_fname, &file) != 0) return "";
  return std::to_string(file.st_size) + " " + std::to_string(file.st_mtim.tv_sec) + " " +
         std::to_string(file.st_mtim.tv_nsec);
}

std::string build_of(const Tokenizer& tokenizer) {
  return build_at(*reinterpret_cast<const void* const*>(&tokenizer));  // its virtual table
}

std::size_t size_of(const std::vector<std::string_view>& texts) {
  return std::accumulate(texts.begin(), texts.end(), std::size_t{0},
                         [](std::size_t sum, std::string_view text) { return sum + text.size(); });
}

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// Numbers as consecutive bytes, and back.
template <class Number>
void append(std::vector<std::uint8_t>& bytes, const std::vector<Number>& numbers) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(numbers.data());
  bytes.insert(bytes.end(), first, first + numbers.size() * sizeof(Number));
}

template <class Number>
std::vector<Number> numbers_in(std::span<const std::uint8_t> bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

SentenceTokens encode_all(const SentenceEncoder& encoder, const std::vector<std::string>& sentences) {
  SentenceTokens all;
  for (const std::string& sentence : sentences) {
    const std::vector<Token> tokens = encoder.encode(sentence, &all.lengths.emplace_back());
    all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
    all.ends.push_back(all.tokens.size());
  }
  return all;
}

// Null if the file is damaged or from another build of a plugin.
std::unique_ptr<Tokenizer> read_again(const Part<TokenizerKind>& part, const TokenizerInputs& inputs,
                                      const std::string& kept) {
  const std::size_t end = kept.find('\n');
  if (end == std::string::npos) return nullptr;
  try {
    auto tokenizer = part.build({.unknown = inputs.unknown, .learned = kept.substr(end + 1)});
    return build_of(*tokenizer) == kept.substr(0, end) ? std::move(tokenizer) : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Tokenizer> cached_tokenizer(const Part<TokenizerKind>& part, const TokenizerInputs& inputs) {
  const bool learns = part.facts().learns && inputs.learned.empty();
  if (!learns || size_of(inputs.texts) < worth_keeping) return part.build(inputs);
  Name name;
  name.add("tokenizer").add(build_at(reinterpret_cast<const void*>(&cached_tokenizer)));
  name.add(to_toml(part.encode())).add(inputs.unknown ? "unknown" : "");
  for (const auto* texts : {&inputs.texts, &inputs.others})
    for (const std::string_view text : *texts) name.add(text);
  std::unique_ptr<Tokenizer> learnt;
  const CachedBytes kept = cache().get(name.hex() + ".json", [&] {
    learnt = part.build(inputs);
    return bytes_of(build_of(*learnt) + "\n" + learnt->json());
  });
  if (!learnt) learnt = read_again(part, inputs, {kept.bytes.begin(), kept.bytes.end()});
  return learnt ? std::move(learnt) : part.build(inputs);
}

TokenStore cached_tokens(const Tokenizer& tokenizer, std::string_view text) {
  if (text.size() < worth_keeping) return encode_all(tokenizer, text);
  Name name;
  name.add("text").add(build_of(tokenizer)).add(tokenizer.json()).add(text);
  const CachedBytes kept =
      cache().get(name.hex() + ".tokens", [&] { return encode_all(tokenizer, text).take_bytes(); });
  return {kept.bytes, kept.owner, tokenizer.vocabulary()};
}

SentenceTokens cached_tokens(const SentenceEncoder& encoder, const std::vector<std::string>& sentences) {
  const std::vector<std::string_view> texts(sentences.begin(), sentences.end());
  if (size_of(texts) < worth_keeping) return encode_all(encoder, sentences);
  const Tokenizer& tokenizer = encoder.tokenizer();
  Name name;
  name.add("sentences").add(build_of(tokenizer)).add(tokenizer.json()).add(std::to_string(encoder.length()));
  for (const std::string_view text : texts) name.add(text);
  const CachedBytes kept = cache().get(name.hex() + ".sentences", [&] {
    const SentenceTokens all = encode_all(encoder, sentences);
    std::vector<std::uint8_t> bytes;
    append(bytes, all.ends);
    append(bytes, all.lengths);
    append(bytes, all.tokens);
    return bytes;
  });
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  const std::size_t ends = std::min(kept.bytes.size(), sentences.size() * sizeof(std::size_t)),
                    lengths = std::min(kept.bytes.size() - ends, ends);
  SentenceTokens all{numbers_in<Token>(kept.bytes.subspan(ends + lengths)),
                     numbers_in<std::size_t>(kept.bytes.first(ends)),
                     numbers_in<std::int64_t>(kept.bytes.subspan(ends, lengths))};
  const bool intact = all.ends.size() == sentences.size() && all.lengths.size() == sentences.size() &&
                      std::ranges::is_sorted(all.ends) && all.ends.back() == all.tokens.size();
  return intact ? std::move(all) : encode_all(encoder, sentences);  // the file may be truncated
}

}  // namespace runner
