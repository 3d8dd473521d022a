#include "options/path_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <lanner/error.h>
#include <lanner/source.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_list_bytes = 256u << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The leading digits of `text`.
std::string_view digits_of(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return text.substr(0, count);
}

std::string_view without_zeros(std::string_view digits) {
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  return digits.substr(zeros);
}

/// Below 0, 0, above 0, by numeric value; any number of digits.
int compare_numbers(std::string_view left, std::string_view right) {
  const std::string_view a = without_zeros(left), b = without_zeros(right);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

void sort_naturally(std::vector<std::string>& paths) {
  std::ranges::sort(paths, natural_less);
}

std::string joined(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// Names in a folder; an empty path is the current folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  check(!error, error == std::errc::no_such_file_or_directory ? ErrorCode::not_found : ErrorCode::io,
        "{}: {}", folder, error.message());
  return names;
}

/// Matches the parts of a pattern one after the other.
class Walk {
public:
  explicit Walk(const std::string& pattern) {
    std::string_view rest = pattern;
    std::string folder;
    while (rest.starts_with('/')) {
      folder = "/";
      rest.remove_prefix(1);
    }
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      if (end > 0) parts_.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!parts_.empty()) go(folder, 0);
  }

  std::vector<std::string> found;

private:
  void go(const std::string& folder, std::size_t at) {
    interrupt_token().check();
    const std::string& part = parts_[at];
    if (part == "**") return go_deep(folder, at);
    if (!is_pattern(part)) return take(joined(folder, part), at);
    for (const std::string& name : readable(folder))
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) take(joined(folder, name), at);
  }

  void take(const std::string& path, std::size_t at) {
    std::error_code ignored;
    const bool folder = fs::is_directory(path, ignored);
    if (at + 1 < parts_.size()) {
      if (folder) go(path, at + 1);
    } else if (!folder && fs::exists(fs::symlink_status(path, ignored))) {
      found.push_back(path);
    }
  }

  /// `**` matches no folder or any number of them; at the end everything in them.
  void go_deep(const std::string& folder, std::size_t at) {
    const bool last = at + 1 == parts_.size();
    if (!last) go(folder, at + 1);
    for (const std::string& name : readable(folder)) {
      if (name.starts_with('.')) continue;
      const std::string path = joined(folder, name);
      std::error_code ignored;
      const bool is_folder = fs::is_directory(path, ignored);
      if (is_folder && !fs::is_symlink(path, ignored)) go_deep(path, at);
      if (last && !is_folder) found.push_back(path);
    }
  }

  /// Folders without read permission match nothing.
  static std::vector<std::string> readable(const std::string& folder) {
    try {
      return names_in(folder);
    } catch (const Error&) {
      return {};
    }
  }

  std::vector<std::string> parts_;
};

/// `img_`, 5, `.png` for `img_%05d.png`.
struct NumberedName {
  std::string before, after;
  std::size_t width = 0; ///< Least number of digits, with leading zeros.
};

std::optional<NumberedName> numbered_name(std::string_view name) {
  const std::size_t percent = name.find('%');
  if (percent == std::string_view::npos) return std::nullopt;
  std::string_view rest = name.substr(percent + 1);
  const std::string_view digits = digits_of(rest);
  rest.remove_prefix(digits.size());
  const bool width = digits.empty() || (digits[0] == '0' && digits.size() <= 3);
  if (!rest.starts_with('d') || !width) return std::nullopt;
  NumberedName parts{std::string(name.substr(0, percent)), std::string(rest.substr(1)), 0};
  for (const char c : digits) parts.width = parts.width * 10 + static_cast<std::size_t>(c - '0');
  return parts;
}

/// The number in a name, empty where the name does not match.
std::string_view number_in(std::string_view name, const NumberedName& parts) {
  if (name.size() <= parts.before.size() + parts.after.size() || !name.starts_with(parts.before) ||
      !name.ends_with(parts.after))
    return {};
  name.remove_prefix(parts.before.size());
  name.remove_suffix(parts.after.size());
  const bool number = digits_of(name).size() == name.size();
  return number && name.size() >= parts.width ? name : std::string_view();
}

} // namespace

bool natural_less(std::string_view left, std::string_view right) {
  std::string_view a = left, b = right;
  while (!a.empty() && !b.empty()) {
    const std::string_view digits = digits_of(a), others = digits_of(b);
    if (!digits.empty() && !others.empty()) {
      const int order = compare_numbers(digits, others);
      if (order != 0) return order < 0;
      a.remove_prefix(digits.size());
      b.remove_prefix(others.size());
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.size() != b.size()) return a.size() < b.size();
  return left < right; // img1 and img01.
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(folder)) {
    const std::string path = joined(folder, name);
    std::error_code ignored;
    if (!name.starts_with('.') && !fs::is_directory(path, ignored)) paths.push_back(path);
  }
  sort_naturally(paths);
  return paths;
}

bool is_pattern(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::vector<std::string> files_matching(const std::string& pattern) {
  std::vector<std::string> paths = std::move(Walk(pattern).found);
  sort_naturally(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

bool is_numbered(std::string_view path) {
  return numbered_name(path.substr(path.rfind('/') + 1)).has_value();
}

std::vector<std::string> files_numbered(const std::string& path) {
  const std::size_t end = path.rfind('/') + 1; // 0 where the folder does not exist.
  const std::string folder = path.substr(0, end);
  const NumberedName parts = *numbered_name(path.substr(end));
  std::vector<std::string> names;
  for (std::string& name : names_in(folder))
    if (!number_in(name, parts).empty()) names.push_back(std::move(name));
  sort_naturally(names); // Equal except for the numbers.
  for (std::string& name : names) name.insert(0, folder);
  return names;
}

std::vector<ListLine> read_list(const std::string& path) {
  Limits limits = given_limits();
  limits.file_bytes = std::min(limits.file_bytes, max_list_bytes);
  const Content content = read_all(open_path(path, limits), limits);
  std::string_view text(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  check(text.find('\0') == std::string_view::npos, ErrorCode::bad_data,
        "{}: expected text with one path a line, got binary data", path);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<ListLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    lines.push_back({number, std::string(line)});
  }
  return lines;
}

} // namespace lanner::tool
