#pragma once
// An index as bytes.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

#include "video/index/stream_index.h"

namespace lanner {

// Note [Index file]
// 8 bytes `LNRINDEX`, a byte of version, 32 bytes of key, 32 bytes of the source's identity, then numbers,
// then 32 bytes XXH3 of all before.
// Numbers are LEB128; signed ones zigzag, as differences to the packet or frame before. In order: stream,
// time base, flags (1 settled, 2 by a GPU), count of packets, the packets (flags, then pts, dts, pos where
// the flags say so, duration, size), and for a settled index the count of frames and the frames (flags,
// ordinal, pts, duration). A digest that fits proves nothing: every field is checked.

std::vector<std::byte> write_index(const StreamIndex& index, std::string_view key);

/// Throws Error{bad_data, limit_exceeded}; `key` must be the one that was written.
std::shared_ptr<const StreamIndex> read_index(std::span<const std::byte> bytes, std::string_view key,
                                              const Limits& limits);

/// The digest that ends a file whose other bytes are `body`.
std::string index_digest(std::span<const std::byte> body);

} // namespace lanner
