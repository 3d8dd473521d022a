#include "options/range_options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <lanner/error.h>
#include <lanner/option_table.h>

#include "check.h"

namespace lanner::tool {
namespace {

/// A non-negative number without a sign or an exponent.
std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && text[0] != '-' && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// `1:02:03.5`; none for any other form.
std::optional<double> clock_time(std::string_view text) {
  double seconds = 0;
  for (int parts = 1; parts <= 3; ++parts) {
    const std::size_t colon = text.find(':');
    const auto value = plain_number(text.substr(0, colon));
    const bool last = colon == std::string_view::npos;
    if (!value || (parts > 1 && *value >= 60) || (!last && *value != std::floor(*value))) return std::nullopt;
    seconds = seconds * 60 + *value;
    if (last) return seconds;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

/// `10`, `0.5`, `30000/1001`.
double parse_rate(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto above = plain_number(std::string_view(text).substr(0, slash));
  const auto below = slash == std::string::npos ? std::optional(1.0)
                                                : plain_number(std::string_view(text).substr(slash + 1));
  check(above && below && *above > 0 && *below > 0 && *above / *below <= 1e6, ErrorCode::invalid_argument,
        "--fps '{}': expected frames a second, like 5, 0.5 or 30000/1001", text);
  return *above / *below;
}

} // namespace

void add_range_options(Command& command, RangeOptions& options) {
  const std::string group = "Which frames of clips";
  command.add_option("--start", options.start, "Start time: seconds, or like 1:02:03.5").group(group);
  command.add_option("--end", options.end, "End time").group(group);
  command.add_option("--fps", options.rate, "Frames per second to take, like 5 or 0.5; no frame is repeated")
      .group(group);
  command.add_option("--stride", options.stride, "Take every N-th frame")
      .group(group)
      .range(std::int64_t{1}, std::int64_t{1} << 40);
  command.add_option("--frames", options.frames, "At most this many frames")
      .group(group)
      .range(std::int64_t{1}, std::int64_t{1} << 40);
}

double parse_time(const std::string& text, const char* option) {
  if (const auto seconds = clock_time(text)) return *seconds;
  try {
    return parse_seconds(text);
  } catch (const Error&) {
    fail(ErrorCode::invalid_argument, "{} '{}': expected a time like 90, 1:30, 1:02:03.5 or 500ms", option,
         text);
  }
}

FrameRange to_range(const RangeOptions& options) {
  check(options.rate.empty() || options.stride == 1, ErrorCode::invalid_argument,
        "--fps and --stride both select frames; give one");
  FrameRange range;
  if (!options.start.empty()) range.start = parse_time(options.start, "--start");
  if (!options.end.empty()) range.end = parse_time(options.end, "--end");
  if (!options.rate.empty()) range.rate = parse_rate(options.rate);
  range.stride = options.stride;
  range.count = options.frames;
  check(range.end > range.start, ErrorCode::invalid_argument, "--end {}: is not after the start ({})",
        options.end, options.start.empty() ? "0" : options.start);
  return range;
}

} // namespace lanner::tool
