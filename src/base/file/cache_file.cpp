#include "base/file/cache_file.h"

#include <memory>
#include <mutex>
#include <set>
#include <span>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/file/file.h"
#include "base/file/regular_file.h"
#include "base/limits/account.h"
#include "base/limits/counted_vector.h"
#include "base/log_sink.h"
#include "base/text/one_line.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_warnings = 256, longest_message = 1024;

/// Whether this warning would be logged and was not logged before.
bool first_time(const std::string& what) {
  if (!log_is_enabled()) return false;
  struct Said {
    std::mutex mutex;
    std::set<std::string> all;
  };
  static auto* said = new Said; // threads may still work while static objects are destroyed
  const std::lock_guard lock(said->mutex);
  return said->all.size() < most_warnings && said->all.insert(what).second;
}

bool is_missing(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(file, error);
  return !fs::exists(status);
}

/// Something that is not a file and leads to none would stay for ever: nobody writes to it or renames over
/// it.
void clear_place(const fs::path& file) {
  std::error_code error;
  const fs::file_status own = fs::symlink_status(file, error), led_to = fs::status(file, error);
  if (fs::exists(own) && !fs::is_directory(own) && !fs::is_regular_file(led_to)) fs::remove(file, error);
}

Content rest_of(ByteSource& source, std::uint64_t from) {
  const auto size = static_cast<std::uint64_t>(source.size());
  const auto bytes = std::make_shared<CountedVector<std::byte>>(size > from ? size - from : 0);
  bytes->resize(source.read_at(from, *bytes));
  return {*bytes, bytes};
}

} // namespace

std::optional<Content> read_cache_file(const fs::path& file, std::uint64_t most, const Limits& limits,
                                       std::uint64_t from) {
  try {
    if (is_missing(file)) return std::nullopt;
    const SourcePtr source = open_regular_file(file, limits);
    if (const auto size = static_cast<std::uint64_t>(source->size()); size <= most)
      return rest_of(*source, from); // as long as it was when it was opened: others append to it meanwhile
    else
      warn_of_cache_file(file, fmt::format("it has {} bytes, expected {} at most", size, most));
  } catch (const Error& error) {
    check_deadline(); // The call's time is over: no fault of the file.
    if (error.code() != ErrorCode::not_found) warn_of_cache_file(file, error.what());
  } catch (const std::exception& error) {
    warn_of_cache_file(file, error.what());
  }
  return std::nullopt;
}

bool write_cache_file(const fs::path& file, std::string_view bytes) noexcept {
  try {
    fs::create_directories(file.parent_path());
    clear_place(file);
    write_file(file, std::as_bytes(std::span(bytes)));
    return true;
  } catch (const std::exception& error) {
    try {
      const std::string folder = file.parent_path().string();
      if (first_time(folder))
        log_message(LogLevel::info,
                    one_line(fmt::format("cache folder {}: nothing is kept there: {}", folder, error.what()),
                             longest_message));
    } catch (const std::exception&) { // no memory to say so
    }
    return false;
  }
}

void warn_of_cache_file(const fs::path& file, std::string_view why) noexcept {
  try {
    if (first_time(file.string()))
      log_message(LogLevel::warning,
                  one_line(fmt::format("cache: {} is not used and will be replaced: {}", file.string(), why),
                           longest_message));
  } catch (const std::exception&) { // no memory to say so
  }
}

} // namespace lanner
