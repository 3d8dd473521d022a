#pragma once
// Names of several files: folders, patterns, numbered images, lists.

#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// Natural order, where numbers compare by value: img2 before img10.
bool natural_less(std::string_view left, std::string_view right);

/// Files of a folder itself, without hidden ones, in natural order. Throws Error{not_found, io}.
std::vector<std::string> files_in(const std::string& folder);

/// Whether it has a pattern character: `*`, `?`, `[`.
bool is_pattern(std::string_view path);
/// Files that match a pattern, in natural order: `*` and `?` stand for characters of one name, `**` for any
/// folders; hidden files need a dot in the pattern. `**` does not follow links to folders.
std::vector<std::string> files_matching(const std::string& pattern);

/// Whether the name has a number in it: `img_%05d.png`, `%d.jpg`.
bool is_numbered(std::string_view path);
/// Files that match such a name, ordered by number.
std::vector<std::string> files_numbered(const std::string& path);

/// A line of a list with its number.
struct ListLine {
  std::size_t number = 0;
  std::string text;
};
/// Lines of a text file except empty ones and those that begin with #. Throws Error{bad_data} for what is no
/// text.
std::vector<ListLine> read_list(const std::string& path);

} // namespace lanner::tool
