#pragma once
// Indexes in the user's cache folder.

#include <filesystem>
#include <memory>
#include <string>

#include "video/index/index_build.h"

namespace lanner {

/// The place of one stream's index. What cannot be read or kept costs time and nothing else: no function
/// throws for it.
class IndexCache {
public:
  /// Without a place where the request wants none, or the source is no file of its own. `identity` is the
  /// source's.
  static IndexCache of(const IndexRequest& request, int stream, const std::string& identity);
  /// A place by its folder, everything that the index depends on, and the source's identity.
  IndexCache(const std::filesystem::path& folder, const std::string& key, const std::string& identity,
             const Limits& limits);

  /// Null where there is none that can be used, one of another source among them.
  std::shared_ptr<const StreamIndex> load() const;
  /// Keeps an index of this source, never another's: replaces what is there, and removes the files that were
  /// not used for longest while the folder is too large.
  void store(const StreamIndex& index) const;
  const std::filesystem::path& file() const noexcept { return file_; }

private:
  IndexCache() = default;
  std::filesystem::path file_; ///< Empty: no place.
  std::string key_, identity_;
  Limits limits_;
};

/// Removes the files of `folder` that were used least recently until at most `bytes` are left.
void trim_folder(const std::filesystem::path& folder, std::uint64_t bytes) noexcept;

} // namespace lanner
