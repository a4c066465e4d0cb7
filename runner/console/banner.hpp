#pragma once

#include <string>

#include "runner/terminal/format.hpp"

namespace runner {

// A box over the whole width that nobody can miss: a title, and the sentences below it.
std::string banner(const std::string& title, const std::string& text, const Look& look);

}  // namespace runner
