#pragma once
// How many pictures may be in flight at once.

#include <cstdint>

#include <lanner/limits.h>
#include <lanner/packet.h>

namespace lanner {

// Note [Pictures in flight]
// A few bytes of a file can ask for pictures of a gigabyte each, and every thread of a codec, every decoder
// side by side and every place in a queue holds one. So all of these are counted in bytes: there are as many
// as the budget has room for, at least one. What there is at least (the picture that the caller looks at, the
// one that is made, and those that the stream itself refers to) no budget can bound.

/// Bytes that a decoded picture of the stream takes, by what its container says of it; 0 where it says
/// nothing.
std::uint64_t picture_bytes(const StreamInfo& stream);

/// Bytes of pictures that one reader keeps in flight where its caller did not say: a share of the machine's
/// memory and of Limits::total_bytes.
std::uint64_t budget_of_frames(const Limits& limits);

/// How many things of `each` bytes fit into `budget`, from 1 to `most`.
int fitting(std::uint64_t budget, std::uint64_t each, int most);

} // namespace lanner
