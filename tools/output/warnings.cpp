#include "output/warnings.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <lanner/log.h>

#include "output/console.h"

namespace lanner::tool {
namespace {

constexpr const char* levels[] = {"debug", "info", "warning"};

/// Whether LANNER_LOG asks for this level. Invalid values are reported by lanner doctor.
bool is_asked_for(LogLevel level) {
  const char* const text = std::getenv("LANNER_LOG");
  const auto from = std::ranges::find(levels, std::string_view(text ? text : ""));
  return from - std::begin(levels) <= static_cast<std::ptrdiff_t>(level);
}

void show(LogLevel level, std::string_view message) {
  std::fprintf(stderr, "lanner: %s: %s\n", levels[static_cast<std::size_t>(level)],
               one_line(message).c_str());
}

} // namespace

void show_log() {
  if (!is_asked_for(LogLevel::warning)) return; // Then no other level is printed either.
  set_log_callback([](LogLevel level, std::string_view message) {
    if (is_asked_for(level)) show(level, message);
  });
}

ShownWarnings::ShownWarnings() {
  set_log_callback([this](LogLevel level, std::string_view message) {
    if (level != LogLevel::warning) {
      if (is_asked_for(level)) show(level, message);
      return;
    }
    const std::lock_guard lock(mutex_);
    lines_.push_back(one_line(message));
  });
}

ShownWarnings::~ShownWarnings() {
  set_log_callback(nullptr);
  show_log();
  for (const std::string& line : lines_) show(LogLevel::warning, line);
}

} // namespace lanner::tool
