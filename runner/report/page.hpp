#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace runner {

// One self-contained HTML page: style, script and data in it, nothing fetched from anywhere.
// `application` is the page that the script shows: "report" or "data".
std::string html_page(std::string_view title, std::string_view application,
                      const nlohmann::ordered_json& data);

}  // namespace runner
