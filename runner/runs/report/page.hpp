#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace runner {

// One self-contained HTML page: style, script and data in it, nothing fetched from anywhere.
// `application` is the page that the script shows: "report" or "data".
std::string html_page(std::string_view title, std::string_view application,
                      const nlohmann::ordered_json& data);

// Throws InputError if the file holds something else than a page, such as the recipe or a table that was
// named by mistake: writing the page would lose it.
void require_no_other_content(const std::filesystem::path& file);

}  // namespace runner
