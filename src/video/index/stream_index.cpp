#include "video/index/stream_index.h"

#include <utility>

#include "base/check.h"

namespace lanner {

namespace {

/// Deleter of StreamIndex::packets, by which our own are known.
struct ContentFree {
  void operator()(const IndexContent* content) const { delete content; }
};

// Names frames by their packets; see Note [Frames by ordinal].
void name_frames(IndexContent& content) {
  content.index_of.assign(content.table.packets().size(), -1);
  for (std::size_t i = 0; i < content.frames.size(); ++i) {
    const auto ordinal = static_cast<std::size_t>(content.frames[i].ordinal);
    if (ordinal >= content.index_of.size() || content.index_of[ordinal] >= 0) {
      content.named = false;
      continue;
    }
    content.index_of[ordinal] = static_cast<std::int64_t>(i);
  }
}

// A frame is shown until the next one is. Containers tell how far apart packets are decoded (MP4), the usual
// distance (MKV), or that of the fields which a frame is made of.
void measure_frames(std::vector<ShownFrame>& frames) {
  bool fields = frames.size() > 1; // The last frame, too, is shown for as long as both of its fields.
  std::int64_t before = 0;
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    const std::int64_t told = frames[i].duration;
    frames[i].duration = shown_for(frames[i].pts, frames[i + 1].pts, told);
    fields = fields && told > 0 && frames[i].duration / 2 == told && frames[i].duration % 2 == 0;
    before = told;
  }
  if (fields && frames.back().duration == before && frames.back().duration <= INT64_MAX / 2)
    frames.back().duration *= 2;
}

std::shared_ptr<const StreamIndex> publish(int stream, Rational time_base,
                                           std::unique_ptr<IndexContent> content) {
  name_frames(*content);
  measure_frames(content->frames);
  auto index = std::make_shared<StreamIndex>();
  index->stream = stream;
  index->time_base = time_base;
  index->frames.reserve(content->frames.size());
  for (const ShownFrame& frame : content->frames) {
    IndexEntry entry{frame.pts, frame.duration, false, EntryPoint::none};
    if (frame.ordinal >= 0 && frame.ordinal < content->table.size()) {
      const PacketEntry& packet = content->table[frame.ordinal];
      entry.key = packet.key;
      entry.entry = packet.start;
    }
    index->frames.push_back(entry);
  }
  index->packets = std::shared_ptr<const IndexContent>(content.release(), ContentFree());
  return index;
}

} // namespace

std::shared_ptr<const StreamIndex> predicted_index(int stream, Rational time_base,
                                                   std::vector<PacketEntry> packets, std::string identity) {
  auto content = std::make_unique<IndexContent>(std::move(packets));
  content->identity = std::move(identity);
  content->frames = predict_frames(content->table.packets());
  return publish(stream, time_base, std::move(content));
}

std::shared_ptr<const StreamIndex> settled_index(int stream, Rational time_base,
                                                 std::vector<PacketEntry> packets,
                                                 std::vector<ShownFrame> frames, DeviceKind device,
                                                 std::string identity) {
  auto content = std::make_unique<IndexContent>(std::move(packets));
  content->identity = std::move(identity);
  content->frames = std::move(frames);
  content->settled = true;
  content->settled_on = device;
  return publish(stream, time_base, std::move(content));
}

ContentPtr content_of(const StreamIndex& index) {
  check(std::get_deleter<ContentFree>(index.packets) != nullptr, ErrorCode::invalid_argument,
        "index: it was not made by build_index() or VideoReader::index(); its `packets` are missing");
  return std::static_pointer_cast<const IndexContent>(index.packets);
}

} // namespace lanner
