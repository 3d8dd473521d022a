#include <lanner/log.h>

#include <memory>
#include <mutex>

#include "base/log_sink.h"
#include "base/threads/thread_settings.h"

namespace lanner {
namespace {

struct Sink {
  std::mutex mutex;
  std::shared_ptr<const LogCallback> callback;
};

// Leaked on purpose: threads may still log while static objects are destroyed.
Sink& sink() {
  static Sink* instance = new Sink;
  return *instance;
}

} // namespace

void set_log_callback(LogCallback callback) {
  auto shared = callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr;
  std::lock_guard lock(sink().mutex);
  sink().callback.swap(shared);
}

void log_message(LogLevel level, std::string_view message) {
  if (const ThreadSettings* around = current_thread_settings(); around && around->log)
    return around->log(level, message);
  std::shared_ptr<const LogCallback> callback;
  {
    std::lock_guard lock(sink().mutex);
    callback = sink().callback;
  }
  if (callback) (*callback)(level, message);
}

bool log_is_enabled() {
  if (const ThreadSettings* around = current_thread_settings(); around && around->log) return true;
  const std::lock_guard lock(sink().mutex);
  return sink().callback != nullptr;
}

} // namespace lanner
