#pragma once
// What frames take from the packets that they begin in.

#include <cstdint>
#include <deque>

#include <lanner/packet.h>

namespace lanner::nvdec {

/// The newest packets of a stream by number.
class PacketLog {
public:
  struct Entry {
    std::int64_t pts = no_pts, duration = 0;
    bool key = false, discard = false, damaged = false;
  };

  /// Takes note of the next packet; gives its number.
  std::int64_t add(const Packet& packet, bool damaged) {
    entries_.push_back({packet.pts, packet.duration, packet.key, packet.discard, damaged});
    if (entries_.size() > most) entries_.pop_front();
    return next_++;
  }
  /// Null for a packet that is unknown or forgotten.
  const Entry* find(std::int64_t number) const noexcept {
    const std::int64_t oldest = next_ - static_cast<std::int64_t>(entries_.size());
    return number < oldest || number >= next_ ? nullptr
                                              : &entries_[static_cast<std::size_t>(number - oldest)];
  }

private:
  static constexpr std::size_t most = 1024; ///< More than any stream reorders or holds back.
  std::deque<Entry> entries_;
  std::int64_t next_ = 0;
};

} // namespace lanner::nvdec
