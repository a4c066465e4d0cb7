#pragma once

#include <string_view>

// The files of runner/runs/report/assets, embedded into the program when it is built (cmake/Assets.cmake).
namespace runner::assets {

extern const std::string_view page_css, page_js, chart_js, report_js, sweep_js, data_js;

}  // namespace runner::assets
