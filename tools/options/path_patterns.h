#pragma once
// Names of several files: folders, patterns, numbered pictures, lists.

#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// Whether `left` comes first where numbers count by their value: img2 before img10.
bool natural_less(std::string_view left, std::string_view right);

/// Files of a folder, not of those in it, and none that are hidden; in natural order. Throws
/// Error{not_found, io}.
std::vector<std::string> files_in(const std::string& folder);

/// Whether there is a character that a pattern has: `*`, `?`, `[`.
bool is_pattern(std::string_view path);
/// Files that a pattern matches, in natural order: `*` and `?` stand for characters of one name, `**` for any
/// folders; hidden files need a dot in the pattern. Links to folders are not followed by `**`.
std::vector<std::string> files_matching(const std::string& pattern);

/// Whether the name has a number in it: `img_%05d.png`, `%d.jpg`.
bool is_numbered(std::string_view path);
/// Files that such a name stands for, by their numbers.
std::vector<std::string> files_numbered(const std::string& path);

/// A line of a list with its number.
struct ListLine {
  std::size_t number = 0;
  std::string text;
};
/// Lines of a text file but for empty ones and those that begin with #. Throws Error{bad_data} for what is no
/// text.
std::vector<ListLine> read_list(const std::string& path);

} // namespace lanner::tool
