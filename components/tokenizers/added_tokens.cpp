#include "components/tokenizers/added_tokens.hpp"

#include <algorithm>

#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/unicode.hpp"

namespace runner {

namespace {

bool word_before(std::string_view text, std::size_t position) {
  if (position == 0) return false;
  std::string_view last = text.substr(character_start(text, position - 1));
  return unicode::is_word(take_code_point(last));
}

bool word_at(std::string_view text, std::size_t position) {
  std::string_view rest = text.substr(position);
  return !rest.empty() && unicode::is_word(take_code_point(rest));
}

std::size_t before_spaces(std::string_view text, std::size_t position) {
  while (position > 0) {
    const std::size_t start = character_start(text, position - 1);
    std::string_view character = text.substr(start);
    if (!unicode::is_space(take_code_point(character))) break;
    position = start;
  }
  return position;
}

std::size_t after_spaces(std::string_view text, std::size_t position) {
  for (std::string_view rest = text.substr(position); !rest.empty();) {
    if (!unicode::is_space(take_code_point(rest))) break;
    position = text.size() - rest.size();
  }
  return position;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const nlohmann::json& json) {
  std::vector<AddedToken> tokens;
  if (json.is_null()) return tokens;
  for (const auto& each : json) {
    JsonStep step(each, "added token");
    AddedToken token;
    token.id = step.token("id");
    token.text = step.get<std::string>("content");
    token.single_word = step.get("single_word", false);
    token.strip_left = step.get("lstrip", false);
    token.strip_right = step.get("rstrip", false);
    token.special = step.get("special", false);
    token.normalized = step.get("normalized", !token.special);
    step.finish();
    constexpr std::size_t longest = 1000;
    if (token.text.empty()) step.fail("is empty");
    if (token.text.size() > longest) step.fail(in_quotes(token.text) + " has more than 1000 bytes");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : sorted_(std::move(tokens)) {
  std::erase_if(sorted_, [](const AddedToken& token) { return token.text.empty(); });
  std::ranges::stable_sort(sorted_, {}, &AddedToken::text);
  const auto repeated =
      std::ranges::unique(sorted_, {}, &AddedToken::text);  // of equal ones, the first counts
  sorted_.erase(repeated.begin(), repeated.end());
}

// Narrows the range of sorted tokens that begin like the text, byte by byte.
const AddedToken* AddedTokenFinder::longest_at(std::string_view text, std::size_t position,
                                               const Allowed& allowed) const {
  const AddedToken* longest = nullptr;
  auto begin = sorted_.begin(), end = sorted_.end();
  for (std::size_t length = 0; position + length < text.size() && begin != end; ++length) {
    const auto letter = static_cast<unsigned char>(text[position + length]);
    // A token that ends here is sorted before all longer ones.
    const auto at = [&](const AddedToken& token) {
      return length < token.text.size() ? static_cast<unsigned char>(token.text[length]) : -1;
    };
    const auto same = std::ranges::equal_range(begin, end, static_cast<int>(letter), {}, at);
    begin = same.begin();
    end = same.end();
    if (begin != end && begin->text.size() == length + 1 && allowed(*begin, position, position + length + 1))
      longest = &*begin;
  }
  return longest;
}

void AddedTokenFinder::each(std::string_view text, const Allowed& allowed,
                            const std::function<void(std::string_view, const AddedToken*)>& see) const {
  std::size_t done = 0;
  for (std::size_t position = 0; position < text.size();) {
    const AddedToken* token = longest_at(text, position, allowed);
    if (!token) {
      ++position;
      continue;
    }
    std::size_t begin = position, end = position + token->text.size();
    position = end;
    if (token->single_word && (word_before(text, begin) || word_at(text, end))) continue;
    if (token->strip_left) begin = std::max(before_spaces(text, begin), done);
    if (token->strip_right) end = after_spaces(text, end);
    if (begin > done) see(text.substr(done, begin - done), nullptr);
    see(text.substr(begin, end - begin), token);
    done = position = end;
  }
  if (done < text.size()) see(text.substr(done), nullptr);
}

}  // namespace runner
