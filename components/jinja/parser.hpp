#pragma once

#include <string_view>

#include "components/jinja/nodes.hpp"

namespace runner::jinja {

// Throws TemplateError for what is wrong, and for what Jinja can and chat templates do not use: include,
// import, extends, block.
Block parse(std::string_view source);

}  // namespace runner::jinja
