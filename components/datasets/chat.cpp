#include "components/datasets/chat_split.hpp"
#include "components/datasets/stratified_split.hpp"
#include "components/datasets/token_cache.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/token_store.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/wording.hpp"

namespace runner {

constexpr auto describe(std::type_identity<TrainOn>) {
  return choices(choice("assistant", TrainOn::assistant, "all answers of the assistant"),
                 choice("last", TrainOn::last, "the last answer of each conversation"),
                 choice("all", TrainOn::all, "every token, also those of the template and of users"));
}

namespace {

using Json = nlohmann::json;

struct Chat {
  std::vector<std::filesystem::path> files = {};
  std::vector<std::filesystem::path> eval_files = {};
  std::optional<double> split = {};
  Part<TokenizerKind> tokenizer = "bpe";
  std::optional<std::string> template_ = {};
  std::int64_t length = 1024;
  TrainOn train_on = TrainOn::assistant;
};

constexpr auto describe(std::type_identity<Chat>) {
  return fields(
      field("files", &Chat::files,
            "Conversations as JSON lines or a JSON list. Each is {\"messages\": [{\"role\", \"content\"}, "
            "..]}, {\"conversations\": "
            "[{\"from\", \"value\"}, ..]}, {\"instruction\", \"input\", \"output\"} or {\"prompt\", "
            "\"completion\"}; \"tools\" and a system "
            "prompt are understood, and a message with \"weight\": 0 is not trained on.",
            required(), non_empty()),
      field("eval_files", &Chat::eval_files, "Other conversations to evaluate on."),
      field("split", &Chat::split,
            "Without `eval_files`: this share of the conversations becomes the validation set (default 0.1).",
            above(0), below(1)),
      field("tokenizer", &Chat::tokenizer,
            "How text becomes tokens: that of the model to fine-tune (file), or one that is learnt (bpe)."),
      field("template", &Chat::template_,
            "How a conversation becomes text: a file with a chat template in Jinja, or \"chatml\"; default: "
            "chat_template.jinja or "
            "tokenizer_config.json beside the tokenizer, and chatml for a tokenizer that is learnt."),
      field("length", &Chat::length,
            "Tokens per conversation: longer ones are truncated, shorter ones padded.", within(1, 1 << 24)),
      field("train_on", &Chat::train_on, "The tokens that the model is trained to predict."));
}

void check(const Chat& settings, Report& report) {
  if (settings.split && !settings.eval_files.empty())
    report.error("split", "cannot be combined with eval_files");
  if (!settings.tokenizer.facts().reversible || settings.tokenizer.facts().bytes ||
      settings.tokenizer.name() == "char") {
    report.error("tokenizer", "cannot be " + in_quotes(settings.tokenizer.name()) +
                                  ", which has no token for the end of an answer; use file or bpe");
  }
}

std::vector<Conversation> read_all(const std::vector<std::filesystem::path>& files) {
  std::vector<Conversation> all;
  for (const std::filesystem::path& file : files)
    for (Conversation& each : read_chats(file)) all.push_back(std::move(each));
  return all;
}

std::vector<const Conversation*> pointers(const std::vector<Conversation>& all) {
  std::vector<const Conversation*> found;
  for (const Conversation& each : all) found.push_back(&each);
  return found;
}

std::vector<std::string> contents_of(const std::vector<Conversation>& chats) {
  std::vector<std::string> texts;
  for (const Conversation& chat : chats)
    for (const auto& message : chat.messages)
      if (message.contains("content") && message.at("content").is_string())
        texts.push_back(message.at("content"));
  return texts;
}

// A learnt vocabulary, and after it the tokens of the template.
std::unique_ptr<Tokenizer> with_chatml_tokens(const Tokenizer& learnt) {
  Json json = Json::parse(learnt.json());
  std::int64_t id = learnt.vocabulary();
  for (const char* text : {"<|im_start|>", "<|im_end|>"}) {
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", text},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  return read_tokenizer(json.dump(), "the tokenizer that was learnt");
}

constexpr std::int64_t chatml_tokens = 2;

class ChatInterpreter final : public Interpreter {
 public:
  explicit ChatInterpreter(std::shared_ptr<const ChatEncoder> encoder) : encoder_(std::move(encoder)) {}

  std::vector<std::int64_t> tokens(std::string_view text) const override {
    check_utf8(text, "The prompt");
    std::vector<Token> tokens;
    encoder_->tokenizer().encode(text, tokens);
    return {tokens.begin(), tokens.end()};
  }
  std::string text(std::span<const std::int64_t> tokens) const override {
    return encoder_->tokenizer().decode(in_vocabulary(encoder_->tokenizer(), tokens));
  }
  std::vector<std::int64_t> chat(std::string_view messages) const override {
    const auto row = nlohmann::ordered_json::parse(messages, nullptr, false);
    try {
      const std::vector<Token> tokens = encoder_->prompt(read_conversation(row));
      return {tokens.begin(), tokens.end()};
    } catch (const DataError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw DataError(error.what());
    }
  }
  std::vector<std::int64_t> ends() const override {
    const std::vector<Token> ends = encoder_->ends();
    return {ends.begin(), ends.end()};
  }

 private:
  std::shared_ptr<const ChatEncoder> encoder_;
};

class ChatDataset final : public Dataset {
 public:
  ChatDataset(const Chat& settings, std::string learned)
      : settings_(settings), learned_(std::move(learned)) {}

  DataSpec spec() const override {
    if (learns() && learned_.empty())
      return chat_spec(settings_.tokenizer.facts().vocabulary + chatml_tokens, settings_.length);
    return chat_spec(encoder({}, learned_)->tokenizer().vocabulary(), settings_.length);
  }

  Splits open(const TransformPipeline&) const override {
    const std::vector<Conversation> all = read_all(settings_.files), other = read_all(settings_.eval_files);
    auto train = pointers(all), eval = pointers(other);
    if (settings_.eval_files.empty()) {
      if (all.size() < 2)
        throw DataError(
            "There is only one conversation: there is nothing to split. Give dataset.eval_files.");
      train.clear();
      const IndexSplit parts =
          stratified_split(std::vector<std::int64_t>(all.size()), settings_.split.value_or(0.1), 1);
      for (const std::int64_t index : parts.train) train.push_back(&all[static_cast<std::size_t>(index)]);
      for (const std::int64_t index : parts.eval) eval.push_back(&all[static_cast<std::size_t>(index)]);
    }
    const auto shared = encoder(all, learned_);
    Splits splits;
    splits.train = std::make_unique<ChatSplit>(shared, train, settings_.length, "training");
    splits.eval = std::make_unique<ChatSplit>(shared, eval, settings_.length, "validation");
    splits.learned =
        Json{{"tokenizer", Json::parse(shared->tokenizer().json())}, {"format", shared->format().json()}}
            .dump();
    return splits;
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline&,
                                           const std::string& learned) const override {
    return std::make_unique<ChatInterpreter>(encoder({}, learned));
  }

 private:
  bool learns() const { return settings_.tokenizer.facts().learns; }

  std::optional<std::filesystem::path> tokenizer_file() const {
    const Value encoded = settings_.tokenizer.encode();
    const Table* table = encoded.as<Table>();
    const Value* path = table ? table->find("path") : nullptr;
    const std::string* text = path ? path->as<std::string>() : nullptr;
    return text ? std::optional(std::filesystem::path(*text)) : std::nullopt;
  }

  std::shared_ptr<const ChatEncoder> encoder(const std::vector<Conversation>& chats,
                                             const std::string& learned) const {
    const auto length = static_cast<std::size_t>(settings_.length);
    if (!learned.empty()) {
      try {
        const Json json = Json::parse(learned);
        auto tokenizer = read_tokenizer(json.at("tokenizer").dump(), "dataset.json");
        return std::make_shared<ChatEncoder>(std::move(tokenizer), ChatFormat::of(json.at("format")), length,
                                             settings_.train_on);
      } catch (const Json::exception&) {
        throw DataError(
            "dataset.json is not that of a chat dataset: an entry is missing or of the wrong kind.");
      }
    }
    const bool chatml = settings_.template_ == "chatml" || (learns() && !settings_.template_);
    ChatFormat format = read_chat_format(chatml ? std::optional<std::string>("chatml") : settings_.template_,
                                         tokenizer_file());
    if (chatml) format.ends = {"<|im_end|>"};
    std::unique_ptr<Tokenizer> tokenizer;
    if (learns()) {
      const std::vector<std::string> contents = contents_of(chats);
      const std::vector<std::string_view> texts(contents.begin(), contents.end());
      tokenizer = with_chatml_tokens(*cached_tokenizer(settings_.tokenizer, {.texts = texts}));
    } else {
      tokenizer = settings_.tokenizer.build({});
    }
    return std::make_shared<ChatEncoder>(std::move(tokenizer), std::move(format), length, settings_.train_on);
  }

  Chat settings_;
  std::string learned_;  // by the run that is evaluated; empty: this one reads or learns it
};

DatasetFacts facts(const Chat&) { return {.tasks = {Task::language_model}}; }

std::unique_ptr<Dataset> build(const Chat& settings, const DatasetInputs& inputs) {
  return std::make_unique<ChatDataset>(settings, inputs.learned);
}

const Registration<DatasetKind> registration{
    "chat", "Conversations for language models: written with a chat template, and trained on the answers.",
    &build};

}  // namespace

}  // namespace runner
