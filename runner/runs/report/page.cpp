#include "runner/runs/report/page.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "registry/base/ascii.hpp"
#include "runner/process/input_error.hpp"
#include "runner/runs/report/assets.hpp"

namespace runner {

namespace {

constexpr std::string_view page_start = "<!doctype html>";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Nothing in the data may look like the end of the element that holds it.
std::string inside_script(std::string json) {
  for (auto at = json.find('<'); at != std::string::npos; at = json.find('<', at + 1)) {
    json.replace(at, 1, "\\u003c");
  }
  return json;
}

}  // namespace

std::string html_page(std::string_view title, std::string_view application,
                      const nlohmann::ordered_json& data) {
  using Json = nlohmann::ordered_json;
  std::string page(page_start);
  page +=
      "\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n";
  page.append("<title>").append(escaped(title)).append("</title>\n<style>\n").append(assets::page_css);
  page.append(
      "</style>\n</head>\n<body>\n<main id=\"page\"><noscript>This page needs JavaScript."
      "</noscript></main>\n<script type=\"application/json\" id=\"data\">");
  page.append(inside_script(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
  page.append("</script>\n<script>\n'use strict';\n");
  for (const std::string_view script :
       {assets::page_js, assets::chart_js, assets::report_js, assets::sweep_js, assets::data_js}) {
    page.append(script);
  }
  return page.append("show_").append(application).append("(read_data());\n</script>\n</body>\n</html>\n");
}

void require_no_other_content(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return;
  std::string start(page_start.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (stream.gcount() > 0 && ascii_lower(start) != page_start)
    throw InputError(
        file.string() +
        " exists and is not an HTML page. Choose another name for the page, or delete the file.");
}

}  // namespace runner
