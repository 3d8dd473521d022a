// The text of calibration tables:
//
//     lanner calibration 1
//     "conv 1" least=-1.5 most=2.25 threshold=2 calibrator=entropy
//
// A name has its characters beyond printable ASCII, quotes and backslashes escaped as in C, so that it is
// exact whatever its bytes are. Numbers are the shortest decimals that read back as the same. Lines that
// begin with `#` are comments.

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include <lanner/calibration.h>
#include <lanner/source.h>

#include "base/check.h"
#include "base/file/file.h"
#include "calibration/ranges.h"
#include "calibration/table_lines.h"
#include "calibration/tensorrt_cache.h"

namespace lanner {
namespace {

constexpr std::string_view format_name = "lanner calibration ", version = "1";
constexpr std::string_view expected_line = "\"tensor\" least=-1.5 most=2.25 threshold=2 calibrator=entropy";

void append_name(std::string& text, std::string_view name) {
  text += '"';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (text += '\\') += c;
    else if (c == '\n')
      text += "\\n";
    else if (byte < 0x20 || byte >= 0x7f)
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
    else
      text += c;
  }
  text += '"';
}

/// What is left of one line.
class LineReader {
public:
  explicit LineReader(std::string_view line) : left_(line), line_(line) {}

  std::string name() {
    if (!skip("\"")) fail_here();
    std::string name;
    while (!skip("\"")) {
      if (left_.empty()) fail_here();
      if (const std::optional<char> special = escaped()) {
        name += *special;
        continue;
      }
      name += left_.front();
      left_.remove_prefix(1);
    }
    return name;
  }

  /// The text after ` key=`, up to the next blank.
  std::string_view field(std::string_view key) {
    while (skip(" ") || skip("\t")) {
    }
    if (!skip(key) || !skip("=")) fail_here();
    const std::string_view text = left_.substr(0, left_.find_first_of(" \t"));
    left_.remove_prefix(text.size());
    return text;
  }

  double number(std::string_view key) {
    const std::string_view text = field(key);
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || !std::isfinite(value))
      fail(ErrorCode::bad_data, "{}={}: expected a finite number", key, one_line(text, 40));
    return value;
  }

  void end() const {
    if (!left_.empty()) fail_here();
  }

private:
  bool skip(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }

  /// The character that an escape sequence stands for; nothing where none begins.
  std::optional<char> escaped() {
    if (!skip("\\")) return std::nullopt;
    if (skip("n")) return '\n';
    if (skip("\\")) return '\\';
    if (skip("\"")) return '"';
    if (!skip("x") || left_.size() < 2) fail_here();
    unsigned value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + 2, value, 16);
    if (error != std::errc() || end != left_.data() + 2) fail_here();
    left_.remove_prefix(2);
    return static_cast<char>(value);
  }

  [[noreturn]] void fail_here() const {
    fail(ErrorCode::bad_data, "expected {}, got {} at byte {}", expected_line,
         left_.empty() ? "the end of the line" : in_message(left_), line_.size() - left_.size() + 1);
  }

  std::string_view left_, line_;
};

/// Errors in what the text says, whatever their code is for callers who give values.
template<typename Body>
auto as_bad_data(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw Error(ErrorCode::bad_data, error.message());
  }
}

void read_line(CalibrationTable& table, std::string_view line) {
  if (line.starts_with('#')) return;
  LineReader reader(line);
  std::string name = reader.name();
  TensorRange range;
  range.least = reader.number("least");
  range.most = reader.number("most");
  range.threshold = reader.number("threshold");
  const std::string_view calibrator = reader.field("calibrator");
  reader.end();
  as_bad_data([&] {
    range.calibrator = parse_calibrator(calibrator);
    check_range(range);
  });
  add_range(table, std::move(name), range);
}

} // namespace

CalibrationTable CalibrationTable::parse(std::string_view text) {
  if (is_tensorrt_cache(text)) return parse_tensorrt_cache(text);
  const std::string_view header = next_line(text);
  check(header.starts_with(format_name), ErrorCode::bad_data,
        "line 1: expected '{}{}', or 'TRT-...' of a calibration cache of TensorRT, got {}", format_name,
        version, in_message(header));
  check(header.substr(format_name.size()) == version, ErrorCode::bad_data,
        "line 1: version {} of the calibration table: expected {}, the one that this build reads",
        in_message(header.substr(format_name.size())), version);
  CalibrationTable table;
  for_each_line(text, 2, [&](std::string_view line) { read_line(table, line); });
  return table;
}

CalibrationTable CalibrationTable::load(const std::filesystem::path& file) {
  const Content content = read_all(open_path(file, current_limits()), current_limits());
  return with_context(
      [&] { return file.string(); },
      [&] {
        return parse({reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()});
      });
}

std::string CalibrationTable::to_string() const {
  std::string text = fmt::format("{}{}\n", format_name, version);
  for (const auto& one : ranges) {
    const TensorRange& range = one.second;
    with_context([&] { return fmt::format("range of tensor {}", in_message(one.first)); },
                 [&] {
                   check(!one.first.empty(), ErrorCode::invalid_argument, "expected a name");
                   check_range(range);
                 });
    append_name(text, one.first);
    fmt::format_to(std::back_inserter(text), " least={} most={} threshold={} calibrator={}\n", range.least,
                   range.most, range.threshold, calibrator_name(range.calibrator));
  }
  return text;
}

void CalibrationTable::save(const std::filesystem::path& file) const {
  const std::string text = to_string();
  write_file(file, std::as_bytes(std::span(text)));
}

} // namespace lanner
