#include "importers/tensorflow/bundle_file.h"

#include <algorithm>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include "base/crc32c.h"

namespace lanner::test::bundle_file {
namespace {

std::string varint(std::uint64_t value) {
  std::string digits;
  for (; value >= 0x80; value >>= 7) digits.push_back(static_cast<char>(value | 0x80));
  digits.push_back(static_cast<char>(value));
  return digits;
}

std::string fixed(std::uint64_t value, std::size_t bytes) {
  std::string digits;
  for (std::size_t i = 0; i < bytes; ++i) digits.push_back(static_cast<char>(value >> (8 * i)));
  return digits;
}

std::uint32_t crc_of(std::string_view bytes, std::uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(bytes)), before);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string block(const Rows& rows, std::size_t restart_rows) {
  std::string content, restarts, previous;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [key, value] = rows[i];
    std::size_t shared = 0;
    if (i % restart_rows == 0) {
      restarts += fixed(content.size(), 4);
      ++count;
    } else {
      while (shared < std::min(key.size(), previous.size()) && key[shared] == previous[shared]) ++shared;
    }
    content +=
        varint(shared) + varint(key.size() - shared) + varint(value.size()) + key.substr(shared) + value;
    previous = key;
  }
  return content + restarts + fixed(count, 4);
}

/// Appends a block with its trailer; returns its handle.
std::string append(std::string& file, const std::string& content, bool compressed) {
  const std::string stored = compressed ? snappy(content) : content;
  const std::string typed = stored + (compressed ? '\1' : '\0');
  const std::string handle = varint(file.size()) + varint(stored.size());
  file += typed + fixed(masked_crc32c(crc_of(typed)), 4);
  return handle;
}

Message shape(const std::vector<std::int64_t>& dims) {
  Message message;
  for (const std::int64_t size : dims) message.message(2, Message().integer(1, size));
  return message;
}

} // namespace

std::string snappy(std::string_view content) {
  std::string made = varint(content.size()), literal;
  const auto flush = [&] {
    if (literal.empty()) return;
    const std::size_t length = literal.size() - 1;
    if (length < 60)
      made.push_back(static_cast<char>(length << 2));
    else
      made += static_cast<char>(61 << 2) + fixed(length, 2);
    made += literal;
    literal.clear();
  };
  for (std::size_t at = 0; at < content.size();) {
    std::size_t best = 0, from = 0;
    for (std::size_t start = at > 2000 ? at - 2000 : 0; start < at; ++start) {
      std::size_t length = 0;
      while (length < 64 && at + length < content.size() && content[start + length] == content[at + length])
        ++length;
      if (length > best) best = length, from = at - start;
    }
    if (best < 4) {
      literal.push_back(content[at++]);
      continue;
    }
    flush();
    if (best < 12)
      made += {static_cast<char>(1 | (best - 4) << 2 | from >> 8 << 5), static_cast<char>(from)};
    else
      made += static_cast<char>((best % 2 ? 2 : 3) | (best - 1) << 2) + fixed(from, best % 2 ? 2 : 4);
    at += best;
  }
  flush();
  return made;
}

std::string table(const std::map<std::string, std::string>& rows, const TableOptions& options) {
  std::string file;
  Rows index, part;
  const auto flush = [&] {
    if (part.empty()) return;
    index.emplace_back(part.back().first, append(file, block(part, options.restart_rows), options.snappy));
    part.clear();
  };
  for (const auto& row : rows) {
    part.push_back(row);
    if (part.size() == options.block_rows) flush();
  }
  flush();
  std::string footer = append(file, block({}, 1), false);
  footer += append(file, block(index, 1), options.snappy);
  footer.resize(40);
  return file + footer + fixed(0xdb4775248b80fb57, 8);
}

std::string entry(const EntrySpec& spec) {
  Message message;
  message.integer(1, spec.type).message(2, shape(spec.dims)).integer(3, spec.shard);
  message.integer(4, spec.offset).integer(5, spec.size);
  message.data += static_cast<char>(6 << 3 | 5) + fixed(spec.crc, 4);
  for (const SliceSpec& slice : spec.slices) {
    Message extents;
    for (const auto& [start, length] : slice) {
      Message extent;
      if (start != 0) extent.integer(1, start);
      if (length >= 0) extent.integer(2, length);
      extents.message(1, extent);
    }
    message.message(7, extents);
  }
  return message.data;
}

std::string header(const HeaderSpec& spec) {
  Message message;
  message.integer(1, spec.shards).integer(2, spec.endianness);
  message.message(3, Message().integer(1, 1).integer(2, spec.min_consumer));
  return message.data;
}

void Checkpoint::store(const std::string& key, EntrySpec spec, std::string_view bytes, std::int64_t shard) {
  std::string& file = shards_.at(static_cast<std::size_t>(shard));
  spec.shard = shard;
  spec.offset = static_cast<std::int64_t>(file.size());
  spec.size = static_cast<std::int64_t>(bytes.size());
  file += bytes;
  rows_[key] = entry(spec);
}

Checkpoint& Checkpoint::add(const std::string& key, std::int64_t type, const std::vector<std::int64_t>& dims,
                            std::string_view bytes, std::int64_t shard) {
  store(key, {.type = type, .dims = dims, .crc = masked_crc32c(crc_of(bytes))}, bytes, shard);
  return *this;
}

Checkpoint& Checkpoint::add_strings(const std::string& key, const std::vector<std::int64_t>& dims,
                                    const std::vector<std::string>& strings) {
  std::string lengths, fixed_lengths, characters;
  for (const std::string& text : strings) {
    lengths += varint(text.size());
    fixed_lengths += fixed(text.size(), 4);
    characters += text;
  }
  const std::string crc = fixed(masked_crc32c(crc_of(fixed_lengths)), 4);
  constexpr std::int64_t type = 7;
  store(key, {.type = type, .dims = dims, .crc = masked_crc32c(crc_of(fixed_lengths + crc + characters))},
        lengths + crc + characters, 0);
  return *this;
}

Checkpoint& Checkpoint::add_sliced(const std::string& key, std::int64_t type,
                                   const std::vector<std::int64_t>& dims,
                                   const std::vector<SliceSpec>& slices) {
  rows_[key] = entry({.type = type, .dims = dims, .slices = slices});
  return *this;
}

Checkpoint& Checkpoint::set(const std::string& key, std::string value) {
  rows_[key] = std::move(value);
  return *this;
}

std::string Checkpoint::index(const TableOptions& options) const {
  std::map<std::string, std::string> rows = rows_;
  rows.emplace("", header({.shards = static_cast<std::int64_t>(shards_.size())}));
  return table(rows, options);
}

std::filesystem::path Checkpoint::write(const std::filesystem::path& folder, const std::string& name,
                                        const TableOptions& options) const {
  std::filesystem::create_directories(folder);
  const auto put = [&](const std::string& suffix, const std::string& content) {
    std::ofstream(folder / (name + suffix), std::ios::binary) << content;
  };
  put(".index", index(options));
  for (std::size_t i = 0; i < shards_.size(); ++i)
    put(fmt::format(".data-{:05}-of-{:05}", i, shards_.size()), shards_[i]);
  return folder / name;
}

std::string slice_row(const std::string& name, const SliceSpec& slice) {
  std::string key(1, '\0');
  key += name + std::string("\0\1", 2) + '\1' + static_cast<char>(slice.size());
  const auto number = [&](std::int64_t value) {
    if (value < 64) {
      key.push_back(static_cast<char>(0x80 ^ value));
    } else {
      key.push_back(static_cast<char>(0xc0 | value >> 8));
      key.push_back(static_cast<char>(value));
    }
  };
  for (const auto& [start, length] : slice) {
    number(start);
    number(length);
  }
  return key;
}

} // namespace lanner::test::bundle_file
