#pragma once
// Tables of keys in order, as LevelDB writes them (doc/table_format.md of LevelDB): TensorFlow's checkpoint
// indices.

#include <string>
#include <string_view>
#include <vector>

namespace lanner::tf {

class SortedTable {
public:
  /// Keys come in ascending order of their bytes.
  void add(std::string_view key, std::string_view value);
  /// The whole file, without compression.
  std::string finish();

private:
  /// Entries with what they share with the key before, and the places of entries that share nothing.
  struct Block {
    std::string bytes, last;
    std::vector<std::uint32_t> restarts;
    std::size_t since = 0;

    void add(std::string_view key, std::string_view value);
    std::string finish();
  };
  /// Ends the block with its checksum; returns its place as a value of the index.
  std::string end_block(Block& block);

  Block block_, index_;
  std::string file_;
};

} // namespace lanner::tf
