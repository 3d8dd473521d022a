#pragma once
// Atomically written files.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace lanner {

/// A file that appears under its name only with commit(). Until then its bytes are in a temporary file next
/// to it; an object destroyed before removes that file. An existing file keeps its mode and is replaced
/// atomically; a symbolic link is followed. One thread at a time. Errors are Error{not_found, io,
/// invalid_argument} and name the path.
class OutputFile {
public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  /// The name that the file gets.
  const std::filesystem::path& path() const noexcept;
  /// Appends; small pieces are buffered.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Renames the file to its name. The object accepts nothing more. `to_disk` flushes it to the disk first,
  /// so that it is complete after a power failure too; without it writing many small files is much faster.
  void commit(bool to_disk = true);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
