// Words that come from outside (recipes, files, archives) in messages: what a terminal would act on is
// escaped, and what would bury the message is shortened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// "name" in double quotes; control characters as \x1b, at most about 120 bytes of it.
std::string in_quotes(std::string_view text);

// "adam, adamw, sgd", or "a, b, c .. and 997 more".
std::string listed(const std::vector<std::string>& names);

// The same without quotes, for names that stand alone.
std::string escaped_name(std::string_view text);

// A whole message as it is shown and logged: line breaks stay, and the middle of one of more than `most`
// bytes is left out.
std::string shown_message(std::string_view text, std::size_t most = 4000);

}  // namespace runner
