#include "tf/write/sorted_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include <protozero/varint.hpp>

#include "base/crc32c.h"
#include "tf/write/record_frame.h"

namespace lanner::tf {
namespace {

constexpr std::size_t block_bytes = 1u << 18, restart_interval = 16;
constexpr std::uint64_t magic = 0xdb4775248b80fb57;

void append_varint(std::string& to, std::uint64_t value) {
  protozero::write_varint(std::back_inserter(to), value);
}

} // namespace

void SortedTable::Block::add(std::string_view key, std::string_view value) {
  std::size_t shared = 0;
  if (restarts.empty() || since == restart_interval) {
    restarts.push_back(static_cast<std::uint32_t>(bytes.size()));
    since = 0;
  } else {
    shared = static_cast<std::size_t>(std::ranges::mismatch(key, last).in1 - key.begin());
  }
  ++since;
  append_varint(bytes, shared);
  append_varint(bytes, key.size() - shared);
  append_varint(bytes, value.size());
  bytes.append(key.substr(shared)).append(value);
  last = key;
}

std::string SortedTable::Block::finish() {
  if (restarts.empty()) restarts.push_back(0);
  for (const std::uint32_t restart : restarts) bytes += little_endian(restart, 4);
  bytes += little_endian(restarts.size(), 4);
  restarts.clear();
  last.clear();
  return std::exchange(bytes, {});
}

void SortedTable::add(std::string_view key, std::string_view value) {
  block_.add(key, value);
  if (block_.bytes.size() < block_bytes) return;
  const std::string last = block_.last;
  index_.add(last, end_block(block_));
}

std::string SortedTable::end_block(Block& block) {
  std::string place;
  append_varint(place, file_.size());
  std::string bytes = block.finish();
  append_varint(place, bytes.size());
  bytes += '\0'; // The type: not compressed. The checksum covers it.
  file_ += bytes + little_endian(masked_crc32c(crc32c(std::as_bytes(std::span(bytes)))), 4);
  return place;
}

std::string SortedTable::finish() {
  if (!block_.bytes.empty()) {
    const std::string last = block_.last;
    index_.add(last, end_block(block_));
  }
  constexpr std::size_t places = 40;
  Block meta;
  std::string footer = end_block(meta) + end_block(index_);
  footer.resize(places, '\0');
  file_ += footer + little_endian(magic, 8);
  return std::exchange(file_, {});
}

} // namespace lanner::tf
