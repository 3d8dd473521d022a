#pragma once
// Writes checkpoints in TensorFlow's format V2, well-formed or not.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/onnx_file.h"

namespace lanner::test::bundle_file {

using onnx_file::Message;

struct TableOptions {
  bool snappy = false;
  std::size_t block_rows = 4, restart_rows = 3;
};

/// A LevelDB table of rows that ascend.
std::string table(const std::map<std::string, std::string>& rows, const TableOptions& options = {});

/// A block of snappy's format, with literals and copies.
std::string snappy(std::string_view content);

/// Start and length of each dim; -1 for the whole of it.
using SliceSpec = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The key of a slice's own entry, for numbers from -1 to 8191.
std::string slice_row(const std::string& name, const SliceSpec& slice);

struct EntrySpec {
  std::int64_t type = 1;
  std::vector<std::int64_t> dims = {};
  std::int64_t shard = 0, offset = 0, size = 0;
  std::uint32_t crc = 0; ///< Masked.
  std::vector<SliceSpec> slices = {};
};
std::string entry(const EntrySpec& spec);

struct HeaderSpec {
  std::int64_t shards = 1, endianness = 0, min_consumer = 0;
};
std::string header(const HeaderSpec& spec);

/// A tensor's bytes with the entry that leads to them.
class Checkpoint {
public:
  explicit Checkpoint(std::int64_t shards = 1) : shards_(static_cast<std::size_t>(shards)) {}

  Checkpoint& add(const std::string& key, std::int64_t type, const std::vector<std::int64_t>& dims,
                  std::string_view bytes, std::int64_t shard = 0);
  Checkpoint& add_strings(const std::string& key, const std::vector<std::int64_t>& dims,
                          const std::vector<std::string>& strings);
  /// The entry of a tensor whose slices have entries of their own.
  Checkpoint& add_sliced(const std::string& key, std::int64_t type, const std::vector<std::int64_t>& dims,
                         const std::vector<SliceSpec>& slices);
  /// Replaces a row of the index.
  Checkpoint& set(const std::string& key, std::string value);

  std::string index(const TableOptions& options = {}) const;
  const std::string& shard(std::size_t i) const { return shards_.at(i); }
  /// Writes all files and returns `folder / name`.
  std::filesystem::path write(const std::filesystem::path& folder, const std::string& name = "model",
                              const TableOptions& options = {}) const;

private:
  void store(const std::string& key, EntrySpec spec, std::string_view bytes, std::int64_t shard);

  std::vector<std::string> shards_;
  std::map<std::string, std::string> rows_;
};

template<typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

} // namespace lanner::test::bundle_file
