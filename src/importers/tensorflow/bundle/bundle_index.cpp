#include "importers/tensorflow/bundle/bundle_index.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/text/one_line.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/bundle/table.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_shown = 200;

struct HeaderRecord {
  std::int64_t shards = 0, endianness = 0, least_reader = 0;
};
struct ShapeRecord {
  std::vector<std::int64_t> sizes;
  std::int64_t size = 0;
  bool unknown_rank = false;
};

constexpr FieldEntry version_fields[] = {
    field<HeaderRecord, [](HeaderRecord& r, FieldValue& v) { r.least_reader = v.integer(); }>(
        2, "min_consumer", Wire::varint),
};
constexpr FieldEntry header_fields[] = {
    field<HeaderRecord, [](HeaderRecord& r, FieldValue& v) { r.shards = v.integer(); }>(1, "num_shards",
                                                                                        Wire::varint),
    field<HeaderRecord, [](HeaderRecord& r, FieldValue& v) { r.endianness = v.integer(); }>(2, "endianness",
                                                                                            Wire::varint),
    field<HeaderRecord, [](HeaderRecord& r, FieldValue& v) { v.message(version_fields, &r); }>(3, "version",
                                                                                               Wire::message),
};

constexpr FieldEntry dim_fields[] = {
    field<ShapeRecord, [](ShapeRecord& r, FieldValue& v) { r.size = v.integer(); }>(1, "size", Wire::varint),
};
constexpr FieldEntry shape_fields[] = {
    field<ShapeRecord,
          [](ShapeRecord& r, FieldValue& v) {
            r.size = 0;
            v.message(dim_fields, &r);
            check(r.size >= 0, ErrorCode::bad_data, "a size is {}", r.size);
            check_rank(r.sizes.size() + 1, "a shape");
            r.sizes.push_back(r.size);
          }>(2, "dim", Wire::message),
    field<ShapeRecord, [](ShapeRecord& r, FieldValue& v) { r.unknown_rank = v.integer() != 0; }>(
        3, "unknown_rank", Wire::varint),
};

constexpr FieldEntry extent_fields[] = {
    field<Extent, [](Extent& r, FieldValue& v) { r.start = v.integer(); }>(1, "start", Wire::varint),
    field<Extent, [](Extent& r, FieldValue& v) { r.length = v.integer(); }>(2, "length", Wire::varint),
};
constexpr FieldEntry slice_fields[] = {
    field<Slice,
          [](Slice& r, FieldValue& v) {
            check_rank(r.size() + 1, "a slice");
            v.message(extent_fields, &r.emplace_back());
          }>(1, "extent", Wire::message),
};

constexpr FieldEntry entry_fields[] = {
    field<BundleEntry, [](BundleEntry& r, FieldValue& v) { r.data_type = v.integer(); }>(1, "dtype",
                                                                                         Wire::varint),
    field<BundleEntry,
          [](BundleEntry& r, FieldValue& v) {
            ShapeRecord shape;
            v.message(shape_fields, &shape);
            check(!shape.unknown_rank, ErrorCode::bad_data, "the shape is unknown");
            r.shape = Shape(std::move(shape.sizes));
          }>(2, "shape", Wire::message),
    field<BundleEntry, [](BundleEntry& r, FieldValue& v) { r.shard = v.integer(); }>(3, "shard_id",
                                                                                     Wire::varint),
    field<BundleEntry, [](BundleEntry& r, FieldValue& v) { r.offset = v.integer(); }>(4, "offset",
                                                                                      Wire::varint),
    field<BundleEntry, [](BundleEntry& r, FieldValue& v) { r.size = v.integer(); }>(5, "size", Wire::varint),
    field<BundleEntry,
          [](BundleEntry& r, FieldValue& v) { r.crc = static_cast<std::uint32_t>(v.integer()); }>(
        6, "crc32c", Wire::bits32),
    field<BundleEntry,
          [](BundleEntry& r, FieldValue& v) { v.message(slice_fields, &r.slices.emplace_back()); }>(
        7, "slices", Wire::message),
};

std::int64_t read_header(std::span<const std::byte> message, const Limits& limits) {
  HeaderRecord header;
  read_protobuf(message, header_fields, &header, limits);
  check(header.endianness == 0, ErrorCode::unsupported,
        "the checkpoint was written on a big-endian machine; load it there with TensorFlow and export its "
        "values");
  constexpr std::int64_t known = 1;
  check(header.least_reader <= known, ErrorCode::unsupported,
        "the checkpoint asks for readers of version {}; this one knows {}", header.least_reader, known);
  check(header.shards > 0, ErrorCode::bad_data, "the checkpoint has {} shards", header.shards);
  return header.shards;
}

BundleEntry read_entry(std::span<const std::byte> message, std::int64_t shards, const Limits& limits) {
  BundleEntry entry;
  read_protobuf(message, entry_fields, &entry, limits);
  check_limit("rank", entry.shape.rank(), limits.rank, "rank {}", entry.shape.rank());
  check(entry.shard >= 0 && entry.shard < shards, ErrorCode::bad_data, "in shard {} of {}", entry.shard,
        shards);
  check(entry.offset >= 0 && entry.size >= 0, ErrorCode::bad_data, "{} bytes at byte {} of a shard",
        entry.size, entry.offset);
  return entry;
}

/// Memory that an entry takes at least.
std::uint64_t memory_of(std::string_view key, const BundleEntry& entry) {
  constexpr std::uint64_t node = 64;
  std::uint64_t bytes = node + sizeof(BundleEntry) + key.size() + entry.shape.rank() * sizeof(std::int64_t);
  for (const Slice& slice : entry.slices) bytes += sizeof(Slice) + slice.capacity() * sizeof(Extent);
  return bytes;
}

} // namespace

BundleIndex read_bundle_index(std::span<const std::byte> file, const Limits& limits) {
  BundleIndex index;
  index.charge = Charge(current_account());
  std::uint64_t taken = 0;
  read_table(file, limits, [&](std::string_view key, std::string_view value) {
    const auto message = std::as_bytes(std::span(value));
    if (key.empty()) {
      index.shards = with_context([] { return "header"; }, [&] { return read_header(message, limits); });
      return;
    }
    check(index.shards > 0, ErrorCode::bad_data, "there is no header; it is not the index of a checkpoint");
    with_context([&] { return fmt::format("entry '{}'", one_line(key, longest_shown)); },
                 [&] {
                   BundleEntry entry = read_entry(message, index.shards, limits);
                   const std::uint64_t bytes = memory_of(key, entry);
                   taken += bytes;
                   check_limit("total_bytes", taken, limits.total_bytes, "the index takes {} bytes", taken);
                   index.charge.add(bytes);
                   index.entries.emplace(key, std::move(entry));
                 });
  });
  check(index.shards > 0, ErrorCode::bad_data, "there is no header; it is not the index of a checkpoint");
  return index;
}

} // namespace lanner::tensorflow
