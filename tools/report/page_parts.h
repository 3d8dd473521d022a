#pragma once
// Parts of report pages.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/image.h>
#include <lanner/output.h>

namespace lanner::tool {

/// An image for a page: a JPEG of at most 560 pixels a side.
std::vector<std::byte> to_jpeg(const Image& image);
/// `data:image/jpeg;base64,...`
std::string data_uri(const std::vector<std::byte>& jpeg);
/// Escapes text for use between tags and in double-quoted attributes.
std::string html_safe(const std::string& plain);

/// A tile with one number; all texts are markup.
std::string tile(const char* what, const std::string& value, const char* unit, const std::string& more);

/// The values of page.html. All except `styles` and `scripts`, which are files of this folder, is markup that
/// is already escaped.
struct PageParts {
  std::string title;     ///< Title of the window.
  std::string_view kind; ///< Text next to the program's name.
  std::vector<std::string_view> styles;
  std::string_view main;        ///< Content of <main>.
  std::string_view data = "{}"; ///< JSON without `<`, for the scripts.
  std::vector<std::string_view> scripts;
};

/// Writes the page; the values are inserted as they are.
void write_page(OutputFile& file, const PageParts& parts);

} // namespace lanner::tool
