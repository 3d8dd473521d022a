#pragma once
// Which frames of clips a command processes.

#include <string>

#include <lanner/pipeline.h>

#include "options/command_line.h"

namespace lanner::tool {

/// As given on the command line.
struct RangeOptions {
  std::string start, end, rate;
  std::int64_t frames = -1, stride = 1;

  bool given() const { return frames >= 0 || stride != 1 || !start.empty() || !end.empty() || !rate.empty(); }
};
void add_range_options(Command& command, RangeOptions& options);

/// Throws Error{invalid_argument}.
FrameRange to_range(const RangeOptions& options);
/// `1:02:03.5`, `2:03`, `90`, `90s`, `1500ms`.
double parse_time(const std::string& text, const char* option);

} // namespace lanner::tool
