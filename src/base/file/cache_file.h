#pragma once
// Files of the cache folder. What stands there saves time and is needed by nobody: a file that is not as it
// should be is said once in the process by a warning, and replaced when there is something to keep. None of
// these throws.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/limits.h>
#include <lanner/source.h>

namespace lanner {

/// A regular file of at most `most` bytes, and within `limits`, counted like any file; of one that was read
/// up to `from` before, what stands behind. Nothing where there is none, or none that is of use.
std::optional<Content> read_cache_file(const std::filesystem::path& file, std::uint64_t most,
                                       const Limits& limits = {}, std::uint64_t from = 0);

/// Writes it whole under its name, in place of whatever stands there but a folder, and makes its folder where
/// that is missing. Whether it is kept now.
bool write_cache_file(const std::filesystem::path& file, std::string_view bytes) noexcept;

/// Says, once for each file, that it is not used.
void warn_of_cache_file(const std::filesystem::path& file, std::string_view why) noexcept;

} // namespace lanner
