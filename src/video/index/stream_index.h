#pragma once
// What readers keep behind StreamIndex::packets.

#include <memory>
#include <string>
#include <vector>

#include <lanner/video_reader.h>

#include "video/index/packet_table.h"

namespace lanner {

/// Packets and frames of one stream. Immutable: any number of threads may use one.
struct IndexContent {
  explicit IndexContent(std::vector<PacketEntry> packets) : table(std::move(packets)) {}

  PacketTable table;
  std::vector<ShownFrame> frames;     ///< In presentation order.
  std::vector<std::int64_t> index_of; ///< Presentation index by packet ordinal, -1 for none.
  bool settled = false;               ///< `frames` are those that decoding gave, by settled_on.
  DeviceKind settled_on = DeviceKind::cpu;
  bool named = true;    ///< Every frame has a packet of its own that names it.
  std::string identity; ///< Of the source that it was read from; see source_identity.h.

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(frames.size()); }
  std::int64_t index_by_ordinal(std::int64_t ordinal) const {
    return ordinal < 0 || ordinal >= table.size() ? -1 : index_of[static_cast<std::size_t>(ordinal)];
  }
  const ShownFrame& frame(std::int64_t index) const { return frames[static_cast<std::size_t>(index)]; }
};
using ContentPtr = std::shared_ptr<const IndexContent>;

/// The index whose frames follow from the packets.
std::shared_ptr<const StreamIndex> predicted_index(int stream, Rational time_base,
                                                   std::vector<PacketEntry> packets, std::string identity);
/// The index whose frames are those that a decoder on `device` gave, in its order.
std::shared_ptr<const StreamIndex> settled_index(int stream, Rational time_base,
                                                 std::vector<PacketEntry> packets,
                                                 std::vector<ShownFrame> frames, DeviceKind device,
                                                 std::string identity);
/// Throws Error{invalid_argument} for an index that no function above made.
ContentPtr content_of(const StreamIndex& index);

} // namespace lanner
