#pragma once
// The rows of a checkpoint's index: BundleHeaderProto and BundleEntryProto.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <lanner/limits.h>
#include <lanner/shape.h>

#include "base/limits/account.h"
#include "importers/tensorflow/bundle/slice.h"

namespace lanner::tensorflow {

/// Where a tensor's bytes are. Sizes and offsets are those of the file, not negative but otherwise unchecked.
struct BundleEntry {
  std::int64_t data_type = 0;
  Shape shape;
  std::int64_t shard = 0, offset = 0, size = 0;
  std::uint32_t crc = 0;     ///< Masked.
  std::vector<Slice> slices; ///< Where not empty, the tensor's bytes are those of the slices' own entries.
};

struct BundleIndex {
  std::int64_t shards = 0;
  std::map<std::string, BundleEntry, std::less<>> entries; ///< Slices under their slice_key().
  Charge charge;                                           ///< For the entries.
};

/// Throws Error{bad_data, unsupported, limit_exceeded}.
BundleIndex read_bundle_index(std::span<const std::byte> file, const Limits& limits);

} // namespace lanner::tensorflow
