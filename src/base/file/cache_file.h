#pragma once
// Files of the cache folder. They only save time and nothing depends on them: an unusable file causes one
// warning per process, and is replaced when there is something to store.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/limits.h>
#include <lanner/source.h>

namespace lanner {

/// Reads a regular file of at most `most` bytes that is within `limits`, and charges it like any file; for a
/// file that was read up to `from` before, only the bytes after that. Empty where no usable file exists.
/// Throws what check_deadline() throws.
std::optional<Content> read_cache_file(const std::filesystem::path& file, std::uint64_t most,
                                       const Limits& limits = {}, std::uint64_t from = 0);

/// Writes the whole file under its name, replacing whatever is there except a folder, and creates its folder
/// where that is missing. Returns whether the file is stored now.
bool write_cache_file(const std::filesystem::path& file, std::string_view bytes) noexcept;

/// Warns, once for each file, that it is not used.
void warn_of_cache_file(const std::filesystem::path& file, std::string_view why) noexcept;

} // namespace lanner
