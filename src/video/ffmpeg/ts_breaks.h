#pragma once
// Breaks of a transport stream: where packets are missing, or clocks begin anew.

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace lanner::ffmpeg {

/// Looks at the bytes of an MPEG transport stream as they are read (ISO 13818-1 2.4.3) and keeps where a
/// continuity counter jumps or a discontinuity_indicator stands: FFmpeg uses both and gives on neither.
class TsBreaks {
public:
  /// Bytes that were read at `position` of the source. Places that do not follow on the last ones begin anew.
  void feed(std::uint64_t position, std::span<const std::byte> bytes);
  /// Whether there is a break of `pid` behind byte `from` and up to `to`; places are FFmpeg's packet
  /// positions.
  bool between(int pid, std::int64_t from, std::int64_t to) const;

private:
  void find_stride(std::span<const std::byte> begin);
  void look_at(std::span<const std::byte> packet, std::uint64_t position);

  std::size_t stride_ = 0; ///< 188, 192 (time codes in front) or 204 (check bytes behind), 0: no such stream.
  std::uint64_t next_ = 0; ///< Where the next bytes follow on.
  std::vector<std::byte> rest_; ///< Of a packet that is not complete.
  std::array<std::int8_t, 8192> counters_{};
  std::set<std::pair<int, std::int64_t>> breaks_;
};

} // namespace lanner::ffmpeg
