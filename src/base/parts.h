#pragma once
// Work on many bytes in parts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/limits/account.h"

namespace lanner {

/// Progress callback: bytes processed; may be empty.
using BytesDone = std::function<void(std::uint64_t bytes)>;

/// Calls `visit` with parts of some megabytes in sequence: deadlines and cancellation are checked before
/// each, and `done` is called after it.
template<typename Visit>
void for_each_part(std::span<const std::byte> bytes, const BytesDone& done, Visit visit) {
  constexpr std::size_t part_bytes = std::size_t{16} << 20;
  while (!bytes.empty()) {
    check_deadline();
    const auto part = bytes.first(std::min(bytes.size(), part_bytes));
    visit(part);
    if (done) done(part.size());
    bytes = bytes.subspan(part.size());
  }
}

} // namespace lanner
