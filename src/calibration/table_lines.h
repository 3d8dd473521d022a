#pragma once
// Texts of one line a tensor.

#include <cstddef>
#include <string>
#include <string_view>

#include <lanner/calibration.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/limits/paced_deadline.h"
#include "base/text/one_line.h"

namespace lanner {

/// External text as part of a message.
inline std::string in_message(std::string_view text) {
  return "'" + one_line(text, 80) + "'";
}

/// The line before the first newline, without blanks at its ends; removes it from `text`.
inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = line.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
}

/// Calls `read(line)` for each line that is not empty; errors get the line's number, the first being
/// `number`.
template<typename Read>
void for_each_line(std::string_view text, std::size_t number, Read read) {
  PacedDeadline deadline;
  for (; !text.empty(); ++number) {
    const std::size_t before = text.size();
    const std::string_view line = next_line(text);
    deadline(before - text.size());
    if (line.empty()) continue;
    with_context([&] { return fmt::format("line {}", number); }, [&] { read(line); });
  }
}

/// Adds the range of a tensor, within limits. Throws for a tensor that has one.
inline void add_range(CalibrationTable& table, std::string name, const TensorRange& range) {
  check(!name.empty(), ErrorCode::bad_data, "expected the name of a tensor before its range");
  const std::size_t nodes = current_limits().nodes;
  check_limit("nodes", table.ranges.size() + 1, nodes, "{} tensors", table.ranges.size() + 1);
  count_bytes(block_overhead + name.size());
  const auto [at, is_new] = table.ranges.try_emplace(std::move(name), range);
  if (!is_new) fail(ErrorCode::bad_data, "a second range of tensor {}: expected one", in_message(at->first));
}

} // namespace lanner
