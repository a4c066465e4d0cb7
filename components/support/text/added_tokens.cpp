#include "components/support/text/added_tokens.hpp"

#include <algorithm>

#include "components/support/text/code_points.hpp"
#include "components/support/text/unicode.hpp"

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

std::size_t behind_spaces(std::string_view text, std::size_t position) {
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
    token.id = step.get<Token>("id");
    token.text = step.get<std::string>("content");
    token.single_word = step.get("single_word", false);
    token.strip_left = step.get("lstrip", false);
    token.strip_right = step.get("rstrip", false);
    token.special = step.get("special", false);
    token.normalized = step.get("normalized", !token.special);
    step.finish();
    if (token.text.empty()) step.fail("is empty");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) {
  std::ranges::stable_sort(tokens, std::greater<>(),
                           [](const AddedToken& token) { return token.text.size(); });
  for (AddedToken& token : tokens)
    if (!token.text.empty())
      by_first_byte_[static_cast<unsigned char>(token.text.front())].push_back(std::move(token));
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, std::size_t position) const {
  for (const AddedToken& token : by_first_byte_[static_cast<unsigned char>(text[position])])
    if (text.substr(position).starts_with(token.text)) return &token;
  return nullptr;
}

void AddedTokenFinder::each(std::string_view text,
                            const std::function<void(std::string_view, const AddedToken*)>& see) const {
  std::size_t done = 0;
  for (std::size_t position = 0; position < text.size();) {
    const AddedToken* token = longest_at(text, position);
    if (!token) {
      ++position;
      continue;
    }
    std::size_t begin = position, end = position + token->text.size();
    position = end;
    if (token->single_word && (word_before(text, begin) || word_at(text, end))) continue;
    if (token->strip_left) begin = std::max(before_spaces(text, begin), done);
    if (token->strip_right) end = behind_spaces(text, end);
    if (begin > done) see(text.substr(done, begin - done), nullptr);
    see(text.substr(begin, end - begin), token);
    done = position = end;
  }
  if (done < text.size()) see(text.substr(done), nullptr);
}

}  // namespace runner
