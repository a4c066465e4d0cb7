#include "components/chat/chat_encoder.hpp"

#include <algorithm>

#include "components/contract/data_error.hpp"
#include "registry/base/wording.hpp"

namespace runner {

std::size_t EncodedChat::count_trained() const {
  return static_cast<std::size_t>(std::ranges::count(trained, true));
}

ChatEncoder::ChatEncoder(std::shared_ptr<const Tokenizer> tokenizer, ChatFormat format, std::size_t length,
                         TrainOn train_on)
    : tokenizer_(std::move(tokenizer)), renderer_(std::move(format)), length_(length), train_on_(train_on) {
  // Every special token that a template writes after an answer ends it, whatever its name is.
  for (Token token = 0; token < static_cast<Token>(tokenizer_->vocabulary()); ++token)
    if (tokenizer_->is_special(token)) end_texts_.push_back(tokenizer_->name(token));
  for (const std::string& end : renderer_.format().ends) {
    if (!tokenizer_->find(end))
      throw DataError("The tokenizer has no token " + in_quotes(end) +
                      ", with which answers end according to tokenizer_config.json or the template.");
    if (std::ranges::find(end_texts_, end) == end_texts_.end()) end_texts_.push_back(end);
  }
}

// Nobody but the template writes special tokens: those in messages are text.
MarkedTokens ChatEncoder::tokens_of(const jinja::Text& text, std::vector<std::size_t> cuts) const {
  std::vector<bool> foreign(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    foreign[i] = (text.origins[i] & ~jinja::generated) != jinja::from_template;
  return tokenizer_->encode_marked({text.bytes, std::move(foreign), std::move(cuts)});
}

bool ChatEncoder::is_end(Token token) const {
  return std::ranges::find(end_texts_, tokenizer_->name(token)) != end_texts_.end();
}

EncodedChat ChatEncoder::encode(const Conversation& chat) const {
  EncodedChat result;
  RenderedChat rendered;
  try {
    rendered = renderer_.answered(chat, end_texts_);
  } catch (const DataError& error) {
    result.refusal = error.what();
    return result;
  }
  std::vector<std::size_t> cuts;
  for (const Answer& answer : rendered.answers) {
    result.other_prompt = result.other_prompt || !answer.prompted;
    cuts.push_back(answer.begin);
    cuts.push_back(answer.end);
  }
  const bool ascending = std::ranges::is_sorted(cuts);
  MarkedTokens all = tokens_of(rendered.text, ascending ? cuts : std::vector<std::size_t>());
  result.tokens = std::move(all.tokens);
  result.trained.assign(result.tokens.size(), train_on_ == TrainOn::all);
  for (std::size_t i = 0; ascending && i < rendered.answers.size(); ++i) {
    const Answer& answer = rendered.answers[i];
    const bool weighted = answer.message >= chat.weighted.size() || chat.weighted[answer.message];
    const bool last = i + 1 == rendered.answers.size();
    const std::size_t begin = all.ended[2 * i], end = all.begun[2 * i + 1];
    if (begin < end && !is_end(result.tokens[end - 1])) result.no_end = true;
    const bool wanted = train_on_ == TrainOn::assistant || (train_on_ == TrainOn::last && last);
    for (std::size_t at = begin; at < end; ++at) {
      if (wanted && weighted) result.trained[at] = true;
      if (!weighted) result.trained[at] = false;
    }
  }
  if (!result.trained.empty()) result.trained[0] = false;  // nothing stands before it
  if (const auto begin = renderer_.format().tokens.find("bos_token");
      begin != renderer_.format().tokens.end()) {
    const auto token = tokenizer_->find(begin->second);
    result.two_begins =
        token && result.tokens.size() > 1 && result.tokens[0] == *token && result.tokens[1] == *token;
  }
  const std::size_t most = length_ + 1;  // the last token is a target only
  if (result.tokens.size() > most) {
    const bool some = result.count_trained() > 0;
    result.cut = result.tokens.size() - most;
    result.tokens.resize(most);
    result.trained.resize(most);
    result.answers_cut = some && result.count_trained() == 0;
  }
  return result;
}

std::vector<Token> ChatEncoder::prompt(const Conversation& chat) const {
  return tokens_of(renderer_.render(chat, chat.messages.size(), true), {}).tokens;
}

std::vector<Token> ChatEncoder::ends() const {
  std::vector<Token> ends;
  for (const std::string& text : renderer_.format().ends)
    if (const auto token = tokenizer_->find(text)) ends.push_back(*token);
  return ends;
}

}  // namespace runner
