#include "video/index/index_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <lanner/log.h>
#include <lanner/video_support.h>

#include "base/check.h"
#include "base/file/cache_file.h"
#include "base/file/file_identity.h"
#include "base/hash.h"
#include "base/limits/account.h"
#include "base/options.h"
#include "video/index/index_file.h"
#include "video/read/shared_source.h"

namespace lanner {

namespace {

constexpr std::uint64_t folder_bytes = 512ull << 20;
constexpr std::string_view suffix = ".index";
constexpr int reading = 3; // Counts how often packets came to be read in another way.

} // namespace

IndexCache::IndexCache(const std::filesystem::path& folder, const std::string& key,
                       const std::string& identity, const Limits& limits)
    : key_(hash_hex(std::as_bytes(std::span(key)))), identity_(identity), limits_(limits) {
  file_ = folder / (key_ + std::string(suffix));
}

// Lists of other files change without the file that names them.
IndexCache IndexCache::of(const IndexRequest& request, int stream, const std::string& identity) {
  const std::filesystem::path& folder = options().cache_folder;
  const auto stamp = file_identity(original_source(*request.source));
  if (!request.cache || folder.empty() || !stamp || request.demuxer.allow_nested_opens) return {};
  const std::string key = fmt::format("{}|{}|{}|{}|{}|{}", identity, stamp->modified, stream,
                                      request.demuxer.format, video_support().version, reading);
  return IndexCache(folder / "index", key, identity, request.demuxer.limits);
}

std::shared_ptr<const StreamIndex> IndexCache::load() const {
  if (file_.empty()) return nullptr;
  const std::optional<Content> content = read_cache_file(file_, folder_bytes, limits_);
  if (!content) return nullptr;
  try {
    auto index = read_index(content->bytes, key_, limits_);
    check(content_of(*index)->identity == identity_, ErrorCode::bad_data, "its packets are another clip's");
    std::error_code unwritable;
    std::filesystem::last_write_time(file_, std::filesystem::file_time_type::clock::now(), unwritable);
    return index;
  } catch (const std::exception& error) {
    check_deadline(); // The call's time is over: no fault of the file.
    warn_of_cache_file(file_, error.what());
    return nullptr;
  }
}

void IndexCache::store(const StreamIndex& index) const {
  if (file_.empty()) return;
  try {
    check(content_of(index)->identity == identity_, ErrorCode::internal, "it is of another clip");
    const std::vector<std::byte> bytes = write_index(index, key_);
    if (bytes.size() > folder_bytes) return;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (write_cache_file(file_, text)) trim_folder(file_.parent_path(), folder_bytes);
  } catch (const std::exception& error) {
    log_message(LogLevel::debug,
                fmt::format("video: the index is not kept in {}: {}", file_.string(), error.what()));
  }
}

void trim_folder(const std::filesystem::path& folder, std::uint64_t bytes) noexcept {
  struct Kept {
    std::filesystem::file_time_type used;
    std::uint64_t size;
    std::filesystem::path path;
  };
  try {
    std::vector<Kept> files;
    std::uint64_t total = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::error_code gone; // Another process may be at work here, too.
      if (entry.path().extension() != suffix || !entry.is_regular_file(gone) || gone) continue;
      const std::uint64_t size = entry.file_size(gone);
      const auto used = gone ? std::filesystem::file_time_type() : entry.last_write_time(gone);
      if (gone) continue;
      files.push_back({used, size, entry.path()});
      total += size;
    }
    std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
    for (const Kept& file : files) {
      if (total <= bytes) break;
      std::error_code gone;
      std::filesystem::remove(file.path, gone);
      total -= file.size;
    }
  } catch (const std::exception& error) {
    log_message(LogLevel::debug, fmt::format("video: {} is not trimmed: {}", folder.string(), error.what()));
  }
}

} // namespace lanner
