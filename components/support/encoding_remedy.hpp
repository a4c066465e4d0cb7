#pragma once

#include <string>
#include <string_view>

namespace runner {

// What to do about bytes that should be UTF-8 text and are not, judged by the bytes themselves.
std::string encoding_remedy(std::string_view bytes);

}  // namespace runner
