#include "options/reader_options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <lanner/error.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// begin:end:step, each of which is optional.
struct Slice {
  std::optional<std::int64_t> begin, end, step;
};

std::optional<Slice> slice_of(std::string_view text) {
  Slice slice;
  std::optional<std::int64_t>* parts[] = {&slice.begin, &slice.end, &slice.step};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (!part.empty()) *parts[i] = number_of(part);
    if (!part.empty() && !*parts[i]) return std::nullopt;
    if (colon == std::string_view::npos) return i > 0 ? std::optional(slice) : std::nullopt;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

/// Python's rule: negative counts from the end, and the result is clamped to the list.
void add_slice(const Slice& slice, std::int64_t size, std::vector<std::int64_t>& frames) {
  const std::int64_t step = slice.step.value_or(1);
  const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, least, most);
  };
  const std::int64_t begin = place(slice.begin, step > 0 ? 0 : size - 1);
  const std::int64_t end = place(slice.end, step > 0 ? size : -1);
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) frames.push_back(i);
}

} // namespace

void ReaderOptions::follow(const GivenOptions& others) {
  for (const std::string_view name : {"device", "threads"})
    if (others.has(name)) given.copy(name, others);
}

VideoReaderOptions to_reader_options(const ReaderOptions& options) {
  VideoReaderOptions reader;
  reader.rotate = false;
  reader.decoder.raise_on_error = true;
  reader.decoder.output = Device{};
  options.given.apply(reader, reader_option_table());
  reader.demuxer.cancel = interrupt_token();
  reader.demuxer.limits = reader.decoder.limits = given_limits();
  return reader;
}

std::vector<std::int64_t> parse_frames(const std::string& text, std::int64_t size) {
  std::vector<std::int64_t> frames;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto number = number_of(part);
    const auto slice = number ? std::nullopt : slice_of(part);
    check((number || slice) && (!slice || slice->step != 0), ErrorCode::invalid_argument,
          "--frames '{}': expected numbers and slices like 0,7,100:200:5", text);
    if (number) {
      check(*number >= -size && *number < size, ErrorCode::invalid_argument,
            "--frames '{}': frame {} is out of range: the clip has {} frames", text, *number, size);
      frames.push_back(*number < 0 ? *number + size : *number);
    } else {
      add_slice(*slice, size, frames);
    }
    if (comma == std::string_view::npos) return frames;
    rest.remove_prefix(comma + 1);
  }
}

} // namespace lanner::tool
