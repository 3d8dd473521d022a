#pragma once
// Captures the library's warnings.

#include <mutex>
#include <string>
#include <vector>

#include <lanner/log.h>

namespace lanner::test {

/// Collects warnings during its lifetime.
class Heard {
public:
  Heard() {
    set_log_callback([this](LogLevel level, std::string_view message) {
      const std::lock_guard lock(mutex_);
      if (level == LogLevel::warning) lines_.emplace_back(message);
    });
  }
  ~Heard() { set_log_callback(nullptr); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  const std::vector<std::string>& lines() const { return lines_; }

private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

} // namespace lanner::test
