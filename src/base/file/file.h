#pragma once
// Atomic writing of files, and locks between processes.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <lanner/cancel.h>

#include "base/file/descriptor.h"

namespace lanner {

/// A file that appears under its name only when commit() is called. Until then the bytes are in a temporary
/// file next to it; an object destroyed without commit() removes that file, and the files of a process that
/// was killed are removed by the next process that writes to the folder. An existing file keeps its mode and
/// is replaced atomically; a symbolic link is followed. One thread at a time.
///
/// Errors are Error{not_found, io, invalid_argument} and name the path.
class AtomicFile {
public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  /// The name that the file gets.
  const std::filesystem::path& path() const noexcept { return path_; }

  /// Writes at position() and advances it.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Reads back what was written; returns how many bytes, 0 at the end.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const;

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t size() const noexcept { return size_; }
  /// May be past the end: the gap then reads as zeros.
  void seek(std::uint64_t position) noexcept { position_ = position; }

  /// Flushes the bytes to the disk and renames the file to its name. The object accepts nothing more. Where a
  /// run writes many small files, `to_disk` is false: then a power cut may leave them empty.
  void commit(bool to_disk = true);

private:
  void discard() noexcept;

  std::filesystem::path path_, temporary_;
  Descriptor fd_;
  std::uint64_t position_ = 0, size_ = 0;
};

/// Writes a whole file through AtomicFile.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// An exclusive lock between processes on a lock file (created where it is missing, and left there). Held
/// until the object is destroyed or its process ends; a forked child does not hold it.
class FileLock {
public:
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;
  ~FileLock();
  /// Waits for the lock; nothing when another holder keeps it for that long, as a stopped process does.
  /// Throws Error{cancelled, io}.
  static std::optional<FileLock> acquire_within(const std::filesystem::path& path,
                                                std::chrono::milliseconds timeout,
                                                const CancelToken& cancel = {});
  /// Nothing when another holder has it.
  static std::optional<FileLock> try_acquire(const std::filesystem::path& path);

private:
  explicit FileLock(Descriptor fd) noexcept : fd_(std::move(fd)) {}
  Descriptor fd_;
};

} // namespace lanner
