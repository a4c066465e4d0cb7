#include "components/datasets/chat_split.hpp"

#include <ATen/Parallel.h>

#include <cmath>

#include "components/datasets/selection.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::string place_of(const Conversation& chat) {
  return escaped_name(chat.file) + ", row " + std::to_string(chat.row);
}

// Conversations with the same fault: how many, and where the first are.
class Fault {
 public:
  explicit Fault(std::string text) : text_(std::move(text)) {}

  void add(const Conversation& chat, const std::string& why = "") {
    constexpr std::size_t most = 5;
    if (why_.empty()) why_ = why;
    if (count_++ < most) places_.push_back(place_of(chat));
  }
  std::size_t count() const { return count_; }
  // "3 of 20 training conversations have no token to train on: chats.jsonl, row 3 .."
  std::string sentence(std::size_t all, const std::string& what) const {
    return std::to_string(count_) + " of " + counted(all, what + " conversation") + " " + text_ +
           (why_.empty() ? "" : " (the first " + why_ + ")") + ": " + joined(places_, "; ") +
           (count_ > places_.size() ? " .." : "") + ".";
  }
  const std::vector<std::string>& places() const { return places_; }

 private:
  std::string text_, why_;
  std::vector<std::string> places_;
  std::size_t count_ = 0;
};

std::vector<EncodedChat> encode_all(const ChatEncoder& encoder,
                                    const std::vector<const Conversation*>& chats) {
  std::vector<EncodedChat> all(chats.size());
  at::parallel_for(0, std::ssize(chats), 16, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      all[i] = encoder.encode(*chats[i]);
  });
  return all;
}

std::string share(std::size_t part, std::size_t all) {
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(1, all));
  return log::format("{} %", std::round(10 * percent) / 10);
}

}  // namespace

DataSpec chat_spec(std::int64_t vocabulary, std::int64_t length) {
  DataSpec spec;
  spec.input_shape = spec.target_shape = {length};
  spec.input_type = torch::kInt64;
  spec.classes = spec.vocabulary = vocabulary;
  return spec;
}

ChatSplit::ChatSplit(std::shared_ptr<const ChatEncoder> encoder,
                     const std::vector<const Conversation*>& chats, std::int64_t length,
                     const std::string& what)
    : encoder_(std::move(encoder)), length_(length) {
  Fault refused("cannot be written with the chat template and are skipped"),
      untrained("have no token to train on and are skipped"),
      cut_whole("have no answer within dataset.length tokens and are skipped"),
      two_begins("begin with two begin tokens"),
      no_end("have an answer without its end token: the model would not learn to stop"),
      other_prompt(
          "have an answer before which the template writes something else than when it asks for one: the "
          "model would be trained on "
          "other prompts than it gets"),
      cut("are longer than dataset.length and were truncated");
  const std::vector<EncodedChat> encoded = encode_all(*encoder_, chats);
  std::size_t trained = 0;
  for (std::size_t i = 0; i < chats.size(); ++i) {
    const EncodedChat& each = encoded[i];
    if (!each.refusal.empty()) {
      refused.add(*chats[i], each.refusal);
      continue;
    }
    if (each.two_begins) two_begins.add(*chats[i]);
    if (each.other_prompt) other_prompt.add(*chats[i]);
    if (each.no_end) no_end.add(*chats[i]);
    if (each.count_trained() == 0) {
      (each.answers_cut ? cut_whole : untrained).add(*chats[i]);
      continue;
    }
    if (each.cut > 0) cut.add(*chats[i]);
    trained += each.count_trained();
    tokens_.insert(tokens_.end(), each.tokens.begin(), each.tokens.end());
    trained_.insert(trained_.end(), each.trained.begin(), each.trained.end());
    ends_.push_back(tokens_.size());
    places_.push_back(place_of(*chats[i]));
  }
  std::string first;
  for (const Fault* fault : {&refused, &untrained, &cut_whole, &two_begins, &no_end, &other_prompt}) {
    if (fault->count() == 0) continue;
    details_.faults.push_back({fault->sentence(chats.size(), what), fault->places()});
    if (first.empty()) first = details_.faults.back().text;
  }
  if (ends_.empty()) throw DataError("There is no " + what + " conversation to use. " + first);
  for (const ExampleFault& fault : details_.faults) log::warning("{}", fault.text);
  if (cut.count() > 0) details_.notes.push_back(cut.sentence(chats.size(), what));
  details_.notes.push_back(counted(ends_.size(), what + " conversation") + " with " +
                           counted(tokens_.size(), "token") + ", of which " + share(trained, tokens_.size()) +
                           " are trained on.");
  for (const std::string& note : details_.notes) log::info("{}", note);
}

DataSpec ChatSplit::spec() const { return chat_spec(encoder_->tokenizer().vocabulary(), length_); }

ChatSplit::Row ChatSplit::row(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
  return {std::span(tokens_).subspan(begin, ends_[at] - begin), begin};
}

std::optional<ShownTokens> ChatSplit::tokens_of(std::int64_t index) const {
  const Row chat = row(index);
  ShownTokens shown{.place = places_[static_cast<std::size_t>(index)]};
  for (std::size_t i = 0; i < chat.tokens.size(); ++i) {
    shown.ids.push_back(chat.tokens[i]);
    shown.texts.push_back(encoder_->tokenizer().name(chat.tokens[i]));
    shown.trained.push_back(trained_[chat.begin + i]);
  }
  return shown;
}

void ChatSplit::read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const {
  auto* input = batch.input.data_ptr<std::int64_t>() + first * length_;
  auto* target = batch.target.data_ptr<std::int64_t>() + first * length_;
  const std::int64_t padding = encoder_->tokenizer().padding().value_or(0);
  for (const ExampleRef& example : examples) {
    const Row chat = row(example.index);
    std::fill(input, input + length_, padding);
    std::fill(target, target + length_, ignored_label);
    for (std::size_t i = 0; i + 1 < chat.tokens.size(); ++i) {
      input[i] = chat.tokens[i];
      if (trained_[chat.begin + i + 1]) target[i] = chat.tokens[i + 1];
    }
    input += length_;
    target += length_;
  }
}

}  // namespace runner
