#pragma once
// File identity: how a file is recognised.

#include <cstdint>
#include <optional>

#include <lanner/source.h>

namespace lanner {

struct FileIdentity {
  std::uint64_t size = 0;
  std::int64_t modified = 0; ///< Nanoseconds since 1970.
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Identity of a source that open_path(), open_beneath() or open_fd() opened on a regular file; nothing for
/// others.
std::optional<FileIdentity> file_identity(const ByteSource& source);

} // namespace lanner
