#include "video/ffmpeg/packet_history.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lanner::ffmpeg {

void PacketHistory::clear() {
  entries_.clear();
  given_.clear();
  bytes_ = 0;
  complete_ = true;
}

void PacketHistory::add(std::int64_t mark, const AVPacket& packet, bool clean) {
  if (!complete_) return;
  PacketPtr copy = make_packet();
  check(av_packet_ref(copy.get(), &packet) >= 0, ErrorCode::out_of_memory,
        "packet: memory was refused by the system");
  bytes_ += static_cast<std::uint64_t>(copy->size);
  entries_.push_back({mark, std::move(copy), clean});
  while (bytes_ > most_)
    if (!shorten()) {
      clear();
      complete_ = false;
    }
}

void PacketHistory::gave(std::int64_t mark) {
  if (complete_) given_.push_back(mark);
}

// A clean place shows what was before it first: with a frame of its own given, nothing before it is to come.
bool PacketHistory::shorten() {
  if (entries_.empty() || given_.empty()) return false;
  const std::int64_t newest = *std::ranges::max_element(given_);
  const auto begin =
      std::find_if(entries_.begin() + 1, entries_.end(), [](const Entry& entry) { return entry.clean; });
  if (begin == entries_.end() || begin->mark > newest) return false;
  const std::int64_t first = begin->mark;
  while (entries_.front().mark != first) {
    bytes_ -= static_cast<std::uint64_t>(entries_.front().packet->size);
    entries_.pop_front();
  }
  std::erase_if(given_, [&](std::int64_t mark) { return mark < first; });
  return true;
}

std::deque<PacketHistory::Entry> PacketHistory::take() {
  std::deque<Entry> entries = std::move(entries_);
  clear();
  return entries;
}

} // namespace lanner::ffmpeg
