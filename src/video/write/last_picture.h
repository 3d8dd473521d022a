#pragma once
// How long the last picture of a file is shown.

#include <cstdint>
#include <string_view>

#include <lanner/packet.h>

namespace lanner {

/// Whether the container says it: in others a picture is shown until the next one.
bool tells_last_duration(std::string_view format) noexcept;

/// Of the pictures of a file, in ticks of its packets.
struct ShownSpan {
  std::int64_t first_pts = no_pts, first_dts = no_pts; ///< Of the first packet.
  std::int64_t end = no_pts;                           ///< When the last picture is no longer shown.
};
/// Changes the last packet in decoding order, which need not be the last picture, so that the distances of
/// decoding add up to the time that pictures are shown, as MP4 has it in its tables.
void end_decoding_with(const ShownSpan& shown, Packet& last);

} // namespace lanner
