#pragma once
// By what a file is known again.

#include <cstdint>
#include <optional>

#include <lanner/source.h>

namespace lanner {

struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t modified = 0; ///< Nanoseconds since 1970.
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Of a source that open_path(), open_beneath() or open_fd() opened on a regular file; nothing for others.
std::optional<FileStamp> file_stamp(const ByteSource& source);

} // namespace lanner
