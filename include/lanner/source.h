#pragma once
// Byte sources: one type for every reader of Lanner.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <lanner/limits.h>

namespace lanner {

/// Random-access bytes from a file, memory, a descriptor or a callback. Passive; one user at a time per
/// object. Size is fixed when opened. Errors are Error{not_found, io, limit_exceeded} and name the source.
class ByteSource {
public:
  virtual ~ByteSource() = default;

  /// The name of this source in messages: a path as given, `bytes`, `fd 3`, `callback`.
  virtual const std::string& name() const noexcept = 0;
  /// Total number of bytes, or -1 when it is unknown (a pipe, a growing stream).
  virtual std::int64_t size() const noexcept = 0;
  /// Whether read_at may go back.
  virtual bool seekable() const noexcept = 0;
  /// Copies up to `into.size()` bytes that start at `offset`; returns how many, 0 at the end.
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// The whole content as one block that lives as long as this object, or an empty span when the source
  /// cannot give one without copying, as for files: others may write to them.
  virtual std::span<const std::byte> map() = 0;
};

using SourcePtr = std::shared_ptr<ByteSource>;

/// Opens a regular file for reading (not a directory; a pipe is read in order and is not seekable).
SourcePtr open_path(const std::filesystem::path& path, const Limits& limits = {});
/// Opens `relative` beneath `folder`; rejects `..`, absolute paths and links (symbolic or hard) that could
/// leave it.
SourcePtr open_beneath(const std::filesystem::path& folder, const std::string& relative,
                       const Limits& limits = {});
/// Bytes that the caller keeps alive through `owner` (may be null: then they must outlive the source).
SourcePtr open_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr,
                     std::string name = "bytes");
/// A descriptor, which is duplicated; the caller keeps its own.
SourcePtr open_fd(int fd, const Limits& limits = {});
/// Reads by calling `read(offset, into) -> count`. `size` is -1 when unknown.
using ReadCallback = std::function<std::size_t(std::uint64_t, std::span<std::byte>)>;
SourcePtr open_callback(ReadCallback read, std::int64_t size, bool seekable, std::string name = "callback");

/// Everything in `source`, for a file a private copy; bounded by `limits.file_bytes`.
struct Content {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes` alive.
};
Content read_all(const SourcePtr& source, const Limits& limits = {});

} // namespace lanner
