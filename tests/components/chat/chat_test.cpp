// Tokens and masks are compared with transformers in tests/python/test_chat.py.
#include <catch2/catch_all.hpp>

#include "components/chat/chat_renderer.hpp"
#include "components/contract/data_error.hpp"

using namespace runner;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;

namespace {

Conversation chat_of(const char* json) { return read_conversation(Json::parse(json)); }

// The answers, as texts.
std::vector<std::string> answers(const std::string& source, const Conversation& chat) {
  const ChatRenderer renderer({.source = source});
  const RenderedChat rendered = renderer.answered(chat, {"<|im_end|>"});
  std::vector<std::string> texts;
  for (const Answer& answer : rendered.answers)
    texts.push_back(answer.prompted ? rendered.text.bytes.substr(answer.begin, answer.end - answer.begin)
                                    : "not prompted");
  return texts;
}

std::string without_marks() {
  std::string source = chatml_template;
  for (const std::string mark : {"{% generation %}", "{% endgeneration %}"})
    source.erase(source.find(mark), mark.size());
  return source;
}

const char* const two_answers =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
                     {"role": "assistant", "content": "d<|im_end|>e"}]})";

}  // namespace

TEST_CASE("chat: answers with and without {% generation %}", "[chat]") {
  const std::vector<std::string> expected = {"b<|im_end|>", "d<|im_end|>e<|im_end|>"};
  CHECK(answers(chatml_template, chat_of(two_answers)) == expected);
  CHECK(answers(without_marks(), chat_of(two_answers)) == expected);
}

TEST_CASE("chat: a template that prompts otherwise than it trains is found out", "[chat]") {
  for (std::string source : {std::string(chatml_template), without_marks()}) {
    const auto prompt = source.rfind("assistant\\n");
    source.replace(prompt, 9, "model");
    CHECK(answers(source, chat_of(two_answers)) == std::vector<std::string>{"not prompted", "not prompted"});
  }
}

TEST_CASE("chat: every shape of a row", "[chat]") {
  const auto messages = [](const char* json) { return chat_of(json).messages.dump(); };
  const std::string expected = R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])";
  CHECK(messages(
            R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})") ==
        expected);
  CHECK(messages(R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]})") ==
        expected);
  CHECK(messages(R"({"instruction": "a", "input": "", "output": "b"})") == expected);
  CHECK(messages(R"({"prompt": "a", "completion": "b"})") == expected);
  CHECK(chat_of(R"({"messages": [{"role": "assistant", "content": "b", "weight": 0}]})").weighted ==
        std::vector<bool>{false});
  CHECK(chat_of(R"({"instruction": "a", "output": "b", "tools": "[{\"name\": \"f\"}]"})").tools.dump() ==
        R"([{"name":"f"}])");
  CHECK_THROWS_WITH(chat_of(R"({"question": 1})"), ContainsSubstring("has \"question\", but neither"));
  CHECK_THROWS_WITH(chat_of(R"({"chosen": "a", "rejected": "b"})"), ContainsSubstring("preference data"));
}

TEST_CASE("chat: a template that refuses a conversation is quoted", "[chat]") {
  const ChatRenderer renderer({.source = "{{ raise_exception('Roles must alternate') }}"});
  CHECK_THROWS_WITH(renderer.render(chat_of(two_answers), 4, false),
                    ContainsSubstring("Roles must alternate"));
  CHECK_THROWS_AS(ChatRenderer({.source = "{% if %}"}), DataError);
}
