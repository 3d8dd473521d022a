#pragma once
// Files that appear whole or not at all.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace lanner {

/// A file that comes into being under its name only with commit(). Until then its bytes lie beside it under a
/// temporary name; an object that dies before removes them. An existing file keeps its mode and is replaced
/// at once; a symbolic link is followed. One thread at a time. Errors are Error{not_found, io,
/// invalid_argument} and name the path.
class OutputFile {
public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  /// The name it will have.
  const std::filesystem::path& path() const noexcept;
  /// Appends; small pieces are gathered.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Gives the bytes their name. The object accepts nothing more. `to_disk` forces them to the disk before,
  /// so that they are whole after a power failure too; without it writing many small files is much faster.
  void commit(bool to_disk = true);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
