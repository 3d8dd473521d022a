#pragma once
// What pages of reports are made of.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/image.h>
#include <lanner/output.h>

namespace lanner::tool {

/// A picture as a page shows it: a JPEG of 560 pixels a side at most.
std::vector<std::byte> to_jpeg(const Image& image);
/// `data:image/jpeg;base64,...`
std::string data_uri(const std::vector<std::byte>& jpeg);
/// Text between tags and in attributes with double quotes.
std::string html_safe(const std::string& plain);

/// What one page puts into page.html. All but `styles` and `scripts`, which are files of this folder, is
/// markup that is safe already.
struct PageParts {
  std::string title;     ///< Of the window.
  std::string_view kind; ///< Beside the program's name.
  std::vector<std::string_view> styles;
  std::string_view main;        ///< Inside <main>.
  std::string_view data = "{}"; ///< JSON without `<`, for the scripts.
  std::vector<std::string_view> scripts;
};

/// Writes the page; what is put into it is not looked at again.
void write_page(OutputFile& file, const PageParts& parts);

} // namespace lanner::tool
