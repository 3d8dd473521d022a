#include "video/ffmpeg/ts_breaks.h"

#include <algorithm>

namespace lanner::ffmpeg {

namespace {

constexpr std::size_t packet_bytes = 188;
constexpr std::byte sync{0x47};
constexpr int null_pid = 0x1fff;
constexpr std::size_t max_breaks = 1 << 16;

unsigned at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<unsigned>(bytes[i]);
}

} // namespace

void TsBreaks::find_stride(std::span<const std::byte> begin) {
  for (const std::size_t stride : {std::size_t{188}, std::size_t{192}, std::size_t{204}}) {
    const std::size_t first = stride == 192 ? 4 : 0;
    if (stride_ != 0 || begin.size() < first + 3 * stride) continue;
    if (begin[first] == sync && begin[first + stride] == sync && begin[first + 2 * stride] == sync)
      stride_ = stride;
  }
}

void TsBreaks::feed(std::uint64_t position, std::span<const std::byte> bytes) {
  if (position == 0 && stride_ == 0) find_stride(bytes);
  if (stride_ == 0) return;
  if (position != next_ || position == 0) {
    rest_.clear();
    counters_.fill(-1);
  }
  next_ = position + bytes.size();
  const std::uint64_t begin = position - rest_.size();
  rest_.insert(rest_.end(), bytes.begin(), bytes.end());
  std::size_t i = 0;
  while (i + packet_bytes <= rest_.size()) {
    if (rest_[i] != sync) {
      ++i;
      continue;
    }
    look_at(std::span(rest_).subspan(i, packet_bytes), begin + i);
    i += std::min(stride_, rest_.size() - i);
  }
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(i));
}

void TsBreaks::look_at(std::span<const std::byte> packet, std::uint64_t position) {
  const int pid = static_cast<int>((at(packet, 1) & 0x1f) << 8 | at(packet, 2));
  if (pid == null_pid) return;
  const bool payload = at(packet, 3) & 0x10, adapted = at(packet, 3) & 0x20;
  const bool indicated = adapted && at(packet, 4) > 0 && at(packet, 5) & 0x80;
  const int counter = static_cast<int>(at(packet, 3) & 15);
  const int last = counters_[static_cast<std::size_t>(pid)];
  counters_[static_cast<std::size_t>(pid)] = static_cast<std::int8_t>(counter);
  // A packet may be sent twice with one counter, and one without payload does not count.
  const bool follows = last < 0 || counter == last || (payload && counter == ((last + 1) & 15));
  // FFmpeg takes the place of a packet from the end of its 188 bytes.
  if ((indicated || !follows) && breaks_.size() < max_breaks)
    breaks_.emplace(pid,
                    static_cast<std::int64_t>(position + packet_bytes) - static_cast<std::int64_t>(stride_));
}

bool TsBreaks::between(int pid, std::int64_t from, std::int64_t to) const {
  const auto found = breaks_.upper_bound({pid, from});
  return found != breaks_.end() && found->first == pid && found->second <= to;
}

} // namespace lanner::ffmpeg
