// Characters in texts from outside that a terminal acts on.
#pragma once

#include <string>
#include <string_view>

namespace runner {

// Whether a well-formed character is a control character, or changes the direction of writing, which could
// make a message look like another one.
bool acts_on_terminal(std::string_view character);

// Such a character, of up to three bytes, as JSON and our messages write it: "\\u202e".
std::string json_escape(std::string_view character);

// The text of a JSON document: the same document, in which no text holds such a character.
std::string escaped_json(std::string_view json);

}  // namespace runner
