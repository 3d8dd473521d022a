#include "tasks/evaluation/yolo_names.h"

#include <charconv>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "tasks/declare/task_check.h"

namespace lanner::tasks {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Without a comment: # at the beginning or after a blank, outside of quotes.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') &&
               (i == 0 || std::string_view(" \t[{,:").find(line[i - 1]) != std::string_view::npos)) {
      quote = c;
    } else if (c == '#' && (i == 0 || blanks.find(line[i - 1]) != std::string_view::npos)) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string plain(std::string_view text) {
  text = trimmed(text);
  const bool quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  if (!quoted) return std::string(text);
  const char quote = text.front();
  std::string result;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (quote == '\'' && text[i] == '\'' && i + 2 < text.size() && text[i + 1] == '\'') ++i;
    if (quote == '"' && text[i] == '\\' && i + 2 < text.size()) ++i;
    result += text[i];
  }
  return result;
}

/// Splits at commas outside of quotes.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  char quote = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if ((c == '"' || c == '\'') &&
             trimmed(text.substr(start, i - start)).find_first_not_of("0123456789: ") ==
                 std::string_view::npos)
      quote = c;
    if (c != ',' || quote != 0) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  if (!trimmed(text.substr(start)).empty()) parts.push_back(text.substr(start));
  return parts;
}

class Reader {
public:
  YoloFacts read(std::string_view yaml) {
    while (!yaml.empty()) {
      const std::size_t end = yaml.find('\n');
      ++line_;
      take(without_comment(yaml.substr(0, end)));
      yaml = end == std::string_view::npos ? std::string_view() : yaml.substr(end + 1);
    }
    check(open_.empty(), ErrorCode::bad_data, "line {}: the bracket of names is not closed", line_);
    for (std::size_t i = 0; i < facts_.names.size(); ++i)
      check(named_[i], ErrorCode::bad_data, "names: class {} has no name", i);
    return std::move(facts_);
  }

private:
  void take(std::string_view line) {
    if (trimmed(line).empty()) return;
    if (!open_.empty()) return take_open(line);
    const bool inner = blanks.find(line[0]) != std::string_view::npos || line[0] == '-';
    if (inner) {
      if (key_ == "names") take_entry(trimmed(line));
      return;
    }
    const std::size_t colon = line.find(':');
    key_ = std::string(trimmed(line.substr(0, colon)));
    if (colon == std::string_view::npos) return;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (key_ == "path") facts_.path = plain(value);
    if (key_ == "val") facts_.val = plain(value);
    if (key_ == "names" && !value.empty()) take_open(value);
  }

  /// A list or map in brackets, which may span several lines.
  void take_open(std::string_view text) {
    open_ += std::string(text) + " ";
    const std::string_view all = trimmed(open_);
    check(all[0] == '[' || all[0] == '{', ErrorCode::bad_data,
          "line {}: names are '{}', expected a list or a map", line_, one_line(all, 80));
    if (all.back() != (all[0] == '[' ? ']' : '}')) return;
    const bool map = all[0] == '{';
    for (const std::string_view part : parts_of(all.substr(1, all.size() - 2)))
      map ? take_pair(part) : add(facts_.names.size(), plain(part));
    open_.clear();
  }

  void take_entry(std::string_view entry) {
    if (entry[0] == '-') return add(facts_.names.size(), plain(entry.substr(1)));
    take_pair(entry);
  }

  void take_pair(std::string_view pair) {
    const std::size_t colon = pair.find(':');
    const std::string key = plain(pair.substr(0, colon));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    check(colon != std::string_view::npos && error == std::errc() && end == key.data() + key.size(),
          ErrorCode::bad_data, "line {}: expected NUMBER: NAME among the names, got '{}'", line_,
          one_line(pair, 80));
    add(number, plain(pair.substr(colon + 1)));
  }

  void add(std::size_t number, std::string name) {
    check(number < static_cast<std::size_t>(most_classes), ErrorCode::bad_data,
          "line {}: class {}, expected less than {}", line_, number, most_classes);
    if (facts_.names.size() <= number) {
      facts_.names.resize(number + 1);
      named_.resize(number + 1);
    }
    facts_.names[number] = std::move(name);
    named_[number] = true;
  }

  YoloFacts facts_;
  std::vector<bool> named_;
  std::string key_, open_;
  std::size_t line_ = 0;
};

} // namespace

YoloFacts read_yolo_facts(std::string_view yaml) {
  return Reader().read(yaml);
}

} // namespace lanner::tasks
