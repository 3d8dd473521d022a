#pragma once
// Log messages that are not errors. The library never prints; it calls this.

#include <functional>
#include <string_view>

namespace lanner {

enum class LogLevel { debug, info, warning };

/// Receives messages from any thread; must not throw. The default drops them.
using LogCallback = std::function<void(LogLevel, std::string_view)>;
void set_log_callback(LogCallback callback);
void log_message(LogLevel level, std::string_view message);

} // namespace lanner
