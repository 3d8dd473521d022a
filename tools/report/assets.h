#pragma once
// The report's page, as text in the program.

#include <string_view>

namespace lanner::tool {

extern const std::string_view page_html, page_css, page_js;

} // namespace lanner::tool
