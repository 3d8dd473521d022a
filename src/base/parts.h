#pragma once
// Work on many bytes, part by part.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/limits/account.h"

namespace lanner {

/// Told of bytes that were worked on; empty: nobody is.
using BytesDone = std::function<void(std::uint64_t bytes)>;

/// Calls `visit` with parts of some megabytes, one after the other: deadlines and cancellation are looked at
/// before each, and `done` is told behind it.
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
