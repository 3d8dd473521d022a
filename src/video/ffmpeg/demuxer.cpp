#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/threads/sole_use.h"
#include "video/bitstream/layers.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/container.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"
#include "video/ffmpeg/stream_notes.h"
#include "video/ffmpeg/webp/webp_demuxer.h"
#include "video/ffmpeg/write/av_demuxer.h"

namespace lanner::ffmpeg {

namespace {

// Formats whose clocks may jump (AVFMT_TS_DISCONT) leave no longer gap between two packets of a stream.
constexpr double longest_gap_seconds = 10;
// The first packet of a stream is looked for among so many.
constexpr int packets_to_peek = 64;
// Of a program stream, that begin in a unit of their own, before its times are trusted after a seek.
constexpr int packets_to_settle = 2;

// Note [Exact seeking]
// FFmpeg lands where a container's index or a search by timestamps leads it: before the keyframe that was
// asked for, on a later one where its index is by decoding time, or on none. So after each landing packets
// are read, and kept, until one proves that no later keyframe is at or before the wanted time; where the
// first keyframe is too late, the landing is moved back by steps that double, and in the end the container is
// opened anew. Streams without timestamps are entered in the same way, by the sum of the durations before a
// packet.

// Note [Palettes]
// Where pixels are numbers of colours, AVI and MOV tell the colours beside the first packet, once. Whoever
// begins elsewhere, or leaves the first packet out, would decode numbers without colours: so every packet of
// such a stream carries the palette that was told last. A palette that changes on the way stands before the
// packet that a seek finds: PacketList takes no such stream to begin exactly but at its beginning.

class FfmpegDemuxer final : public Demuxer, public AvDemuxer {
public:
  FfmpegDemuxer(SourcePtr source, const DemuxerOptions& options)
      : limits_(options.limits), container_(std::move(source), options) {
    format_name_ = container_.context().iformat->name;
    metadata_ = entries_of(container_.context().metadata);
    adopt_new_streams();
    const int best = av_find_best_stream(&container_.context(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    best_video_ = best < 0 ? -1 : best;
    if (best_video_ >= 0) look_at_video(best_video_);
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (streams_[i].native_format == "pal8" && palettes_[i].empty())
        peek(static_cast<int>(i), [](const Packet&) {});
  }

  const AVFormatContext& av_context() const noexcept override { return container_.context(); }
  std::string alpha_left_out(int stream) const override {
    return stream == best_video_ ? alpha_left_out_ : std::string();
  }
  const std::string& format() const noexcept override { return format_name_; }
  const std::vector<StreamInfo>& streams() const noexcept override { return streams_; }
  double duration() const noexcept override {
    const std::int64_t ticks = container_.context().duration;
    return ticks == AV_NOPTS_VALUE || ticks < 0 ? 0 : static_cast<double>(ticks) / AV_TIME_BASE;
  }
  const std::map<std::string, std::string>& metadata() const noexcept override { return metadata_; }
  int best_video() const noexcept override { return best_video_; }

  void select(std::span<const int> streams) override {
    const SoleUse::Call call(use_);
    for (const int stream : streams) require_stream(stream);
    selected_.emplace(streams.begin(), streams.end());
    apply_selection(-1);
  }

  std::optional<Packet> next() override {
    const SoleUse::Call call(use_);
    container_.restart_watch();
    while (std::optional<Packet> packet = next_of_any()) {
      if (!wanted(packet->stream)) continue;
      mark_discontinuity(*packet);
      return packet;
    }
    return std::nullopt;
  }

  const std::string& damage() const noexcept override { return container_.damage(); }

  void seek(int stream, std::int64_t pts) override {
    const SoleUse::Call call(use_);
    require_stream(stream);
    require_seekable();
    check(pts != no_pts, ErrorCode::invalid_argument, "{}: seek to no_pts, expected a time", name());
    container_.restart_watch();
    apply_selection(stream);
    land_exactly(stream, pts);
    apply_selection(-1);
    begin_clocks();
  }

  void seek_to_byte(std::int64_t pos) override {
    const SoleUse::Call call(use_);
    const int flags = container_.context().iformat->flags;
    check(!(flags & AVFMT_NO_BYTE_SEEK) && flags & AVFMT_GENERIC_INDEX, ErrorCode::unsupported,
          "{}: format {} cannot be entered at a byte", name(), format_name_);
    check(pos >= 0, ErrorCode::invalid_argument, "{}: byte {}, expected 0 or more", name(), pos);
    require_seekable();
    container_.restart_watch();
    if (!container_.seek(-1, pos, AVSEEK_FLAG_BYTE)) container_.fail_seeking();
    forget_queue();
    begin_clocks();
  }

private:
  struct Clock {
    bool after_seek = false;
    std::int64_t dts = no_pts, end = no_pts; ///< Of the packet given last, and where it ends.
    std::int64_t pos = -1;
    std::int64_t longest_wait = 0; ///< From a dts to its pts.
  };
  /// The way to a keyframe.
  struct Landing {
    int stream;
    std::int64_t pts;
    int unsettled; ///< Packets until times can be trusted.
    std::int64_t elapsed = 0;
    bool found = false, past = false;
  };

  const std::string& name() const { return container_.name(); }

  void require_stream(int stream) {
    check(stream >= 0 && static_cast<std::size_t>(stream) < streams_.size(), ErrorCode::invalid_argument,
          "{}: no stream {}; there are {}", name(), stream, streams_.size());
  }
  void require_seekable() {
    check(container_.source().seekable(), ErrorCode::unsupported,
          "{}: cannot seek: the source cannot go back", name());
  }

  bool wanted(int stream) const {
    return !selected_ || std::find(selected_->begin(), selected_->end(), stream) != selected_->end();
  }

  // FFmpeg skips the other streams where the container allows it; `also` is read besides, -1 for none.
  void apply_selection(int also) {
    AVFormatContext& context = container_.context();
    for (unsigned i = 0; i < context.nb_streams; ++i) {
      const int stream = static_cast<int>(i);
      context.streams[i]->discard = wanted(stream) || stream == also ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
  }

  std::optional<Packet> next_of_any() {
    if (queue_.empty()) {
      if (held_error_) std::rethrow_exception(std::exchange(held_error_, nullptr));
      return read();
    }
    Packet packet = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= packet.bytes.size();
    return packet;
  }

  std::optional<Packet> read() {
    PacketPtr packet = container_.read();
    if (!packet) return std::nullopt;
    if (static_cast<std::size_t>(packet->stream_index) >= streams_.size()) adopt_new_streams();
    const bool changed = follow_palette(*packet);
    Packet result = to_packet(std::move(packet));
    result.palette = changed;
    return result;
  }

  // See Note [Palettes].
  bool follow_palette(AVPacket& packet) {
    std::vector<std::uint8_t>& palette = palettes_[static_cast<std::size_t>(packet.stream_index)];
    std::size_t size = 0;
    if (const std::uint8_t* side = av_packet_get_side_data(&packet, AV_PKT_DATA_PALETTE, &size)) {
      const bool changed = !std::equal(side, side + size, palette.begin(), palette.end());
      palette.assign(side, side + size);
      return changed;
    }
    if (palette.empty()) return false;
    std::uint8_t* copy = av_packet_new_side_data(&packet, AV_PKT_DATA_PALETTE, palette.size());
    if (!copy) throw std::bad_alloc();
    std::copy(palette.begin(), palette.end(), copy);
    return false;
  }

  void enqueue(Packet packet) {
    queued_bytes_ += packet.bytes.size();
    check_limit("total_bytes", queued_bytes_, limits_.total_bytes,
                "{}: {} bytes between a keyframe and the time that was sought", name(), queued_bytes_);
    queue_.push_back(std::move(packet));
  }

  void forget_queue() {
    queue_.clear();
    queued_bytes_ = 0;
    held_error_ = nullptr;
  }

  // Formats without a header (MPEG-TS) may show streams late.
  void adopt_new_streams() {
    AVFormatContext& context = container_.context();
    check_limit("streams", context.nb_streams, limits_.streams, "{}: {} streams", name(), context.nb_streams);
    for (std::size_t i = streams_.size(); i < context.nb_streams; ++i) {
      streams_.push_back(describe(&context, *context.streams[i]));
      clocks_.emplace_back();
      palettes_.emplace_back();
    }
  }

  void look_at_video(int stream) {
    const auto info = [&]() -> StreamInfo& { return streams_[static_cast<std::size_t>(stream)]; };
    info().layers = count_layers(info(), {});
    Packet first;
    if (info().codec == "h264" || info().codec == "hevc")
      peek(stream, [&](const Packet& packet) { first = packet; });
    if (info().codec == "h264" && !first.bytes.empty()) info().layers = count_layers(info(), first.bytes);
    alpha_left_out_ = left_out_alpha(info(), container_.source(), first);
    if (!alpha_left_out_.empty())
      note_once(
          fmt::format("{}: stream {}: its alpha is left out: it is {}", name(), stream, alpha_left_out_));
    const std::string reserved =
        reserved_colors(color_codes(*container_.context().streams[stream]->codecpar, info()));
    if (!reserved.empty()) note_once(fmt::format("{}: stream {}: {}", name(), stream, reserved));
  }

  // Shows `look` the first packet of `stream`. The packets that are read for it are given later; so is an
  // error among them.
  template<typename Look>
  void peek(int stream, Look&& look) {
    if (held_error_) return;
    try {
      for (int i = 0; i < packets_to_peek; ++i) {
        std::optional<Packet> packet = read();
        if (!packet) return;
        const bool found = packet->stream == stream;
        if (found) look(*packet);
        enqueue(std::move(*packet));
        if (found) return;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_data) throw;
      held_error_ = std::current_exception();
    }
  }

  void begin_clocks() {
    for (Clock& clock : clocks_) clock = Clock{.after_seek = true, .longest_wait = clock.longest_wait};
  }

  void mark_discontinuity(Packet& packet) {
    Clock& clock = clocks_[static_cast<std::size_t>(packet.stream)];
    const StreamInfo& stream = streams_[static_cast<std::size_t>(packet.stream)];
    bool jumps = std::exchange(clock.after_seek, false);
    if (packet.dts != no_pts && clock.dts != no_pts) {
      const double gap =
          (static_cast<double>(packet.dts) - static_cast<double>(clock.end)) * stream.time_base.to_double();
      const bool may_jump = container_.context().iformat->flags & AVFMT_TS_DISCONT;
      jumps = jumps || packet.dts < clock.dts || (may_jump && gap > longest_gap_seconds);
    }
    const int pid = container_.context().streams[packet.stream]->id;
    jumps = jumps || container_.breaks().between(pid, clock.pos, packet.pos);
    if (packet.dts != no_pts) clock.dts = packet.dts, clock.end = packet.dts + packet.duration;
    if (packet.pos >= 0) clock.pos = packet.pos;
    packet.discontinuity = packet.discontinuity || jumps;
  }

  // See Note [Exact seeking].
  void land_exactly(int stream, std::int64_t pts) {
    const StreamInfo& info = streams_[static_cast<std::size_t>(stream)];
    if (info.start_pts != no_pts) {
      const std::int64_t second = info.time_base.num > 0 ? info.time_base.den / info.time_base.num + 1 : 1;
      for (std::int64_t back = program_stream() ? second : 0;; back = back ? 2 * back : second) {
        std::int64_t target = 0;
        if (__builtin_sub_overflow(pts, back, &target)) break;
        if (container_.seek(stream, target, AVSEEK_FLAG_BACKWARD) && land(stream, pts, true)) return;
        if (target < info.start_pts - second) break;
      }
    }
    container_.reopen();
    apply_selection(stream);
    if (land(stream, pts, false)) return;
    container_.reopen(); // Every keyframe is later: the first packet is the nearest.
    forget_queue();
  }

  // FFmpeg gives the frames that it finds first after a seek the times of others.
  bool program_stream() const { return format_name_ == "mpeg" || format_name_ == "mpegts"; }

  // A packet without pts is shown no later than the longest wait of the others says.
  std::int64_t time_of(const Packet& packet, Clock& clock) {
    if (packet.pts == no_pts) return packet.dts == no_pts ? no_pts : packet.dts + clock.longest_wait;
    if (packet.dts != no_pts) clock.longest_wait = std::max(clock.longest_wait, packet.pts - packet.dts);
    return packet.pts;
  }

  // Fills the queue from the last keyframe at or before `pts` on; false when the place reached is behind it.
  bool land(int stream, std::int64_t pts, bool sought) {
    forget_queue();
    Landing landing{stream, pts, sought && program_stream() ? packets_to_settle : 0};
    try {
      while (!landing.past) {
        std::optional<Packet> packet = read();
        if (!packet) break;
        if (packet->stream == stream) look_at(*packet, landing);
        if (landing.past && !landing.found) return false;
        if (landing.found) enqueue(std::move(*packet));
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_data) throw;
      held_error_ = std::current_exception(); // Behind what could be read.
    }
    return landing.found;
  }

  void look_at(const Packet& packet, Landing& landing) {
    const bool timed = streams_[static_cast<std::size_t>(landing.stream)].start_pts != no_pts;
    check(timed || packet.duration > 0, ErrorCode::unsupported,
          "{}: stream {} has neither timestamps nor durations to seek by", name(), landing.stream);
    Clock& clock = clocks_[static_cast<std::size_t>(landing.stream)];
    const std::int64_t time = timed ? time_of(packet, clock) : landing.elapsed;
    landing.elapsed += packet.duration;
    const bool entry = packet.key && time != no_pts;
    landing.past =
        (entry && time > landing.pts) || (timed && packet.dts != no_pts && packet.dts > landing.pts);
    if (entry && !landing.past && landing.unsettled <= 0) {
      forget_queue();
      landing.found = true;
    }
    if (packet.pos >= 0) --landing.unsettled;
  }

  SoleUse use_{"Demuxer"};
  Limits limits_;
  Container container_;
  std::string format_name_;
  std::map<std::string, std::string> metadata_;
  std::vector<StreamInfo> streams_;
  std::vector<Clock> clocks_;                       ///< Of each stream.
  std::vector<std::vector<std::uint8_t>> palettes_; ///< Of each stream, empty where none was told.
  int best_video_ = -1;
  std::string alpha_left_out_;               ///< Of the best video.
  std::optional<std::vector<int>> selected_; ///< Nothing: all.
  std::deque<Packet> queue_;                 ///< Read, not yet given.
  std::uint64_t queued_bytes_ = 0;
  std::exception_ptr held_error_; ///< Behind the queue.
};

} // namespace

std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options) {
  check(source != nullptr, ErrorCode::invalid_argument, "open_demuxer: no source was given");
  const bool webp = options.format == webp_format;
  if (webp || options.format.empty())
    if (auto demuxer = open_animated_webp(source, options)) return demuxer;
  DemuxerOptions told = options;
  if (webp) told.format = "webp_pipe"; // FFmpeg's, of one picture.
  return std::make_unique<FfmpegDemuxer>(std::move(source), told);
}

} // namespace lanner::ffmpeg
