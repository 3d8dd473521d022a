#include <lanner/video_reader.h>

#include <algorithm>
#include <utility>

#include <lanner/log.h>

#include "video/frame_cursor.h"
#include "video/packet_table.h"

namespace lanner {

// Note [Exact frames]
// The frames of a stream are those that decoding from its first packet gives. They are first predicted from
// the packets. Where the packets do not decide (see frames_are_certain), and wherever decoding ever
// contradicts the prediction, the list is settled by decoding the stream once. Random access starts at a
// place that resets the decoder; if damage shows on the way, concealment may have used older pictures, so the
// place is struck off and an earlier one is taken.
struct VideoReader::State {
  State(SourcePtr source, const VideoReaderOptions& options) : cursor(std::move(source), options) {}

  std::optional<Frame> next();
  Frame at(std::int64_t i);
  void need_index();
  void settle();
  void rewind();

  FrameCursor cursor;
  bool indexed = false, settled = false, certain_ordinals = true;
  PacketTable table;
  std::vector<ShownFrame> frames;
  std::vector<std::int64_t> index_of; ///< Presentation index by packet ordinal, -1 for none.
  StreamIndex public_index;
  std::int64_t last = -1; ///< Index of the frame given last.
  std::int64_t last_end = no_pts;

private:
  std::int64_t index_by_ordinal(std::int64_t ordinal) const;
  std::int64_t start_for(std::int64_t i) const;
  std::optional<Frame> decode_to(std::int64_t i, std::int64_t start);
  std::optional<Frame> count_to(std::int64_t i);
  void adopt(std::vector<ShownFrame> list);
  Frame finish(TaggedFrame tagged, std::int64_t index);
};

std::int64_t VideoReader::State::index_by_ordinal(std::int64_t ordinal) const {
  return ordinal < 0 || ordinal >= static_cast<std::int64_t>(index_of.size())
             ? -1
             : index_of[static_cast<std::size_t>(ordinal)];
}

void VideoReader::State::adopt(std::vector<ShownFrame> list) {
  frames = std::move(list);
  index_of.assign(table.packets.size(), -1);
  public_index.stream = table.stream;
  public_index.time_base = table.time_base;
  public_index.frames.clear();
  public_index.frames.reserve(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const ShownFrame& frame = frames[i];
    const bool known = frame.ordinal >= 0 && frame.ordinal < static_cast<std::int64_t>(table.packets.size());
    if (known) index_of[static_cast<std::size_t>(frame.ordinal)] = static_cast<std::int64_t>(i);
    public_index.frames.push_back({frame.pts, frame.duration});
    if (!known) continue;
    const PacketEntry& packet = table.packets[static_cast<std::size_t>(frame.ordinal)];
    public_index.frames.back().key = packet.key;
    public_index.frames.back().entry = packet.start;
  }
}

void VideoReader::State::need_index() {
  if (indexed) return;
  table = cursor.read_table({});
  adopt(predict_frames(table));
  indexed = true;
  if (!frames_are_certain(table, cursor.stream())) settle();
}

void VideoReader::State::settle() {
  log(LogLevel::info,
      "video: the packets do not say which frames there are; decoding the stream once to count them");
  settled = true;
  std::vector<ShownFrame> list;
  std::vector<bool> seen(table.packets.size());
  FrameCursor counter = cursor.again();
  while (const auto tagged = counter.next()) {
    const auto place = static_cast<std::size_t>(tagged->ordinal);
    if (place >= seen.size() || seen[place])
      certain_ordinals = false;
    else
      seen[place] = true;
    list.push_back({tagged->ordinal, tagged->frame.pts, tagged->frame.duration});
  }
  fill_missing_times(list);
  adopt(std::move(list));
}

void VideoReader::State::rewind() {
  cursor.restart();
  last = -1;
  last_end = no_pts;
}

Frame VideoReader::State::finish(TaggedFrame tagged, std::int64_t index) {
  Frame frame = std::move(tagged.frame);
  if (indexed)
    frame.pts = frames[static_cast<std::size_t>(index)].pts;
  else if (frame.pts == no_pts)
    frame.pts = last_end;
  frame.index = last = index;
  last_end = frame.pts != no_pts && frame.duration > 0 ? frame.pts + frame.duration : no_pts;
  return frame;
}

std::optional<Frame> VideoReader::State::next() {
  std::optional<TaggedFrame> tagged = cursor.next();
  if (!indexed) return tagged ? std::optional(finish(std::move(*tagged), last + 1)) : std::nullopt;
  const auto count = static_cast<std::int64_t>(frames.size());
  if (!tagged && last + 1 == count) return std::nullopt;
  const bool expected =
      tagged && last + 1 < count && frames[static_cast<std::size_t>(last + 1)].ordinal == tagged->ordinal;
  if (expected || (settled && tagged && last + 1 < count)) return finish(std::move(*tagged), last + 1);
  if (settled) return std::nullopt;
  // Decoding contradicts the prediction: frames given so far keep their numbers only in the settled list.
  settle();
  const std::int64_t wanted = std::exchange(last, -1) + 1;
  return wanted < static_cast<std::int64_t>(frames.size()) ? std::optional(at(wanted)) : std::nullopt;
}

// Ordinal of the latest place to start from which frame `i` decodes exactly.
std::int64_t VideoReader::State::start_for(std::int64_t i) const {
  for (std::int64_t ordinal = frames[static_cast<std::size_t>(i)].ordinal; ordinal > 0; --ordinal) {
    if (table.packets[static_cast<std::size_t>(ordinal)].start == EntryPoint::none) continue;
    const std::int64_t shown = index_by_ordinal(ordinal);
    if (shown >= 0 && shown <= i) return ordinal;
  }
  return 0;
}

std::optional<Frame> VideoReader::State::decode_to(std::int64_t i, std::int64_t start) {
  const bool ahead = last >= 0 && last < i && cursor.position() > start;
  if (!ahead) cursor.start_at(start, table);
  while (auto tagged = cursor.next()) {
    const std::int64_t index = index_by_ordinal(tagged->ordinal);
    if (tagged->frame.corrupt && start > 0 && !ahead) {
      table.packets[static_cast<std::size_t>(start)].start = EntryPoint::none;
      return decode_to(i, start_for(i));
    }
    if (index == i) return finish(std::move(*tagged), i);
    if (index > i) break;
  }
  last = -1;
  return std::nullopt;
}

// For streams whose frames no packet names.
std::optional<Frame> VideoReader::State::count_to(std::int64_t i) {
  if (last >= i || last < 0) rewind();
  while (auto tagged = cursor.next()) {
    const std::int64_t index = last + 1;
    Frame frame = finish(std::move(*tagged), index);
    if (index == i) return frame;
  }
  last = -1;
  return std::nullopt;
}

Frame VideoReader::State::at(std::int64_t i) {
  need_index();
  while (true) {
    const auto count = static_cast<std::int64_t>(frames.size());
    check(i >= 0 && i < count, ErrorCode::invalid_argument,
          "frame {} is out of range: the stream has {} frames", i, count);
    std::optional<Frame> frame = certain_ordinals ? decode_to(i, start_for(i)) : count_to(i);
    if (!frame && settled) frame = count_to(i);
    if (frame) return std::move(*frame);
    check(!settled, ErrorCode::bad_data, "frame {} could not be decoded again", i);
    settle();
  }
}

VideoReader::VideoReader(SourcePtr source, const VideoReaderOptions& options)
    : state_(std::make_unique<State>(std::move(source), options)) {}
VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;

const StreamInfo& VideoReader::stream() const noexcept {
  return state_->cursor.stream();
}
const Demuxer& VideoReader::demuxer() const noexcept {
  return state_->cursor.demuxer();
}
std::string VideoReader::decoder_description() const {
  return state_->cursor.decoder().description();
}

const std::string& VideoReader::decoder_reason() const noexcept {
  return state_->cursor.decoder().reason();
}

std::int64_t VideoReader::size() {
  state_->need_index();
  return static_cast<std::int64_t>(state_->frames.size());
}

std::shared_ptr<const StreamIndex> VideoReader::index() {
  state_->need_index();
  return std::make_shared<StreamIndex>(state_->public_index);
}

std::optional<Frame> VideoReader::next() {
  return state_->next();
}
Frame VideoReader::at(std::int64_t i) {
  return state_->at(i);
}
void VideoReader::rewind() {
  state_->rewind();
}

std::vector<Frame> VideoReader::at(std::span<const std::int64_t> indices) {
  const std::int64_t count = size();
  for (const std::int64_t i : indices)
    check(i >= 0 && i < count, ErrorCode::invalid_argument,
          "frame {} is out of range: the stream has {} frames", i, count);
  std::vector<std::size_t> order(indices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; });
  std::vector<Frame> frames(indices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && indices[order[i]] == indices[order[i - 1]];
    frames[order[i]] = same ? frames[order[i - 1]] : at(indices[order[i]]);
  }
  return frames;
}

std::shared_ptr<const StreamIndex> build_index(SourcePtr source, const IndexOptions& options,
                                               const Control& control) {
  const std::string name = source ? source->name() : "";
  const auto demuxer = open_demuxer(std::move(source), options.demuxer);
  const int chosen = options.stream >= 0 ? options.stream : demuxer->best_video();
  check(chosen >= 0 && static_cast<std::size_t>(chosen) < demuxer->streams().size(),
        ErrorCode::invalid_argument, "{}: no {} stream; there are {} streams", name,
        options.stream >= 0 ? "such" : "video", demuxer->streams().size());
  demuxer->select(std::span<const int>(&chosen, 1));
  const PacketTable table = read_packets(*demuxer, chosen, options.demuxer.limits, control);
  auto index = std::make_shared<StreamIndex>();
  index->stream = chosen;
  index->time_base = table.time_base;
  for (const ShownFrame& frame : predict_frames(table)) {
    const PacketEntry& packet = table.packets[static_cast<std::size_t>(frame.ordinal)];
    index->frames.push_back({frame.pts, frame.duration, packet.key, packet.start});
  }
  return index;
}

} // namespace lanner
