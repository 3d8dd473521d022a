#include "warnings.h"

#include <cstdio>

#include <lanner/log.h>

#include "console.h"

namespace lanner::tool {

ShownWarnings::ShownWarnings() {
  set_log_callback([this](LogLevel level, std::string_view message) {
    if (level != LogLevel::warning) return;
    const std::lock_guard lock(mutex_);
    lines_.push_back(one_line(message));
  });
}

ShownWarnings::~ShownWarnings() {
  set_log_callback(nullptr);
  for (const std::string& line : lines_) std::fprintf(stderr, "lanner: warning: %s\n", line.c_str());
}

} // namespace lanner::tool
