// For names and texts from outside (recipes, files, archives) in messages: characters that a terminal would
// act on are escaped, and long texts are shortened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// "name" in double quotes; control characters as \x1b, at most about 120 bytes of it.
std::string in_quotes(std::string_view text);

// "adam, adamw, sgd", or "a, b, c .. and 997 more".
std::string listed(const std::vector<std::string>& names);

// As listed, of words that are known: nothing is escaped or left out.
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

// "1 error", "2 errors".
std::string counted(std::size_t count, std::string_view noun);

// "an optimizer", "a model".
std::string with_article(std::string_view noun);

// As in_quotes, without the quotes.
std::string escaped_name(std::string_view text);

// A whole message as it is shown and logged. Line breaks stay; the middle of a message longer than `most`
// bytes is left out.
std::string shown_message(std::string_view text, std::size_t most = 4000);

}  // namespace runner
