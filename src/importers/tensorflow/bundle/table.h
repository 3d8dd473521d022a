#pragma once
// Tables of keys and values in LevelDB's format (github.com/google/leveldb, doc/table_format.md), in which
// TensorFlow writes the index of a checkpoint.

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include <lanner/limits.h>

namespace lanner::tensorflow {

/// Bytes at a table's end that say what it is and where its index is.
inline constexpr std::size_t footer_bytes = 48;

/// Whether these last bytes of a file end a table.
bool ends_table(std::span<const std::byte> end);

/// Calls `use` for each row, in the order of the keys, which are checked to ascend. Blocks' checksums are
/// checked. Throws Error{bad_data, limit_exceeded} and what `use` throws.
void read_table(std::span<const std::byte> file, const Limits& limits,
                const std::function<void(std::string_view key, std::string_view value)>& use);

} // namespace lanner::tensorflow
