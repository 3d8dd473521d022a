#pragma once
// Decoding times of packets that come without any.

#include <algorithm>
#include <cstdint>
#include <set>

#include <lanner/packet.h>

namespace lanner::ffmpeg {

/// Decoding times of a stream whose packets may have none, as of Matroska: those of presentation in order, as
/// many packets later as pictures wait for others.
class DecodingOrder {
public:
  explicit DecodingOrder(int delay) : delay_(std::max(0, delay)) {}
  /// Of the next packet in decoding order; no_pts without a pts.
  std::int64_t next(const Packet& packet) {
    if (packet.pts == no_pts) return no_pts;
    const std::int64_t step = std::clamp<std::int64_t>(packet.duration, 1, INT32_MAX);
    if (shown_.empty())
      for (int i = 1; i <= delay_; ++i) shown_.insert(packet.pts - i * step);
    shown_.insert(packet.pts);
    const std::int64_t first = *shown_.begin();
    shown_.erase(shown_.begin());
    return first;
  }

private:
  int delay_;
  std::multiset<std::int64_t> shown_;
};

} // namespace lanner::ffmpeg
