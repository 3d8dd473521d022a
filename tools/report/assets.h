#pragma once
// Files of this folder for the browser, embedded in the program as text: `page.css` is `page_css`.

#include <string_view>

namespace lanner::tool {

extern const std::string_view page_html, page_css, theme_js; ///< For every page.
extern const std::string_view run_html, run_js;              ///< The report of `lanner run`.
extern const std::string_view eval_css, eval_js;             ///< The report of `lanner eval`.
extern const std::string_view quality_js;                    ///< The report of `lanner transcode`.

} // namespace lanner::tool
