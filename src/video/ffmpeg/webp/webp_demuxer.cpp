#include "video/ffmpeg/webp/webp_demuxer.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/ffmpeg/stream_info.h"
#include "video/ffmpeg/webp/webp_reader.h"
#include "video/ffmpeg/write/av_demuxer.h"

namespace lanner::ffmpeg {

namespace {

using Head = std::array<std::byte, webp_head_bytes>;

struct FormatFree {
  void operator()(AVFormatContext* context) const { avformat_free_context(context); }
};

/// A source that cannot go back, of which the first bytes were read.
class BegunSource final : public ByteSource {
public:
  BegunSource(SourcePtr source, const Head& head, std::size_t count)
      : source_(std::move(source)), head_(head), count_(count) {}

  const std::string& name() const noexcept override { return source_->name(); }
  std::int64_t size() const noexcept override { return source_->size(); }
  bool seekable() const noexcept override { return false; }
  std::span<const std::byte> map() override { return {}; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= count_) return source_->read_at(offset, into);
    const std::size_t from = static_cast<std::size_t>(offset), count = std::min(into.size(), count_ - from);
    std::memcpy(into.data(), head_.data() + from, count);
    return count;
  }

private:
  SourcePtr source_;
  Head head_;
  std::size_t count_;
};

class WebpDemuxer final : public Demuxer, public AvDemuxer {
public:
  WebpDemuxer(SourcePtr source, const DemuxerOptions& options, const Head& head, const WebpCanvas& canvas)
      : source_(std::move(source)), limits_(options.limits), stop_(options.cancel, options.limits.seconds),
        reader_(source_, limits_, stop_, canvas) {
    if (source_->seekable())
      find_frames();
    else
      begin();
    describe_stream(head, canvas);
  }

  const AVFormatContext& av_context() const noexcept override { return *context_; }
  const std::string& format() const noexcept override { return format_; }
  const std::vector<StreamInfo>& streams() const noexcept override { return streams_; }
  double duration() const noexcept override { return static_cast<double>(length()) / 1000; }
  const std::map<std::string, std::string>& metadata() const noexcept override { return metadata_; }
  int best_video() const noexcept override { return 0; }

  void select(std::span<const int> streams) override {
    const SoleUse::Call call(use_);
    for (const int stream : streams) require_stream(stream);
    selected_ = !streams.empty();
  }

  std::optional<Packet> next() override {
    const SoleUse::Call call(use_);
    stop_.restart();
    if (!selected_) return std::nullopt;
    if (begun_) return std::exchange(begun_, std::nullopt);
    return source_->seekable() ? next_known() : next_read();
  }

  const std::string& damage() const noexcept override { return damage_; }

  void seek(int stream, std::int64_t pts) override {
    const SoleUse::Call call(use_);
    require_stream(stream);
    check(source_->seekable(), ErrorCode::unsupported, "{}: cannot seek: the source cannot go back",
          source_->name());
    check(pts != no_pts, ErrorCode::invalid_argument, "{}: seek to no_pts, expected a time", source_->name());
    place_ = 0;
    for (std::size_t i = 1; i < places_.size() && places_[i].pts <= pts; ++i)
      if (places_[i].key) place_ = i;
    after_seek_ = true;
    damage_.clear();
  }

  void seek_to_byte(std::int64_t) override {
    fail(ErrorCode::unsupported, "{}: format {} cannot be entered at a byte", source_->name(), format_);
  }

private:
  void require_stream(int stream) const {
    check(stream == 0, ErrorCode::invalid_argument, "{}: no stream {}; there are 1", source_->name(), stream);
  }

  /// In milliseconds, of the frames that are known.
  std::int64_t length() const { return places_.empty() ? 0 : places_.back().pts + places_.back().duration; }

  /// Damage comes behind the frames before it.
  void find_frames() {
    try {
      while (const auto place = reader_.next(nullptr)) places_.push_back(*place);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_data || places_.empty()) throw;
      error_ = std::current_exception();
    }
    require_frame(!places_.empty());
  }

  void begin() {
    begun_ = next_read();
    require_frame(begun_.has_value());
  }

  void require_frame(bool there) const {
    const std::string why = reader_.damage();
    check(there || why.empty(), ErrorCode::bad_data, "{}", why);
    check(there, ErrorCode::bad_data, "{}: an animated WebP without a frame", source_->name());
  }

  std::optional<Packet> next_known() {
    if (place_ == places_.size()) {
      if (error_) std::rethrow_exception(error_);
      damage_ = reader_.damage();
      return std::nullopt;
    }
    const WebpPlace& place = places_[place_];
    auto content = reader_.read(place);
    if (!content) {
      damage_ = fmt::format("{}: ends early: the frame at byte {} was cut off", source_->name(), place.pos);
      return std::nullopt;
    }
    ++place_;
    return packet_of(place, *std::move(content));
  }

  std::optional<Packet> next_read() {
    std::vector<std::byte> content;
    const auto place = reader_.next(&content);
    if (place) return packet_of(*place, std::move(content));
    damage_ = reader_.damage();
    return std::nullopt;
  }

  Packet packet_of(const WebpPlace& place, std::vector<std::byte> content) {
    Packet packet;
    packet.pts = packet.dts = place.pts;
    packet.duration = place.duration;
    packet.pos = static_cast<std::int64_t>(place.pos);
    packet.key = place.key;
    packet.discontinuity = std::exchange(after_seek_, false);
    const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(content));
    packet.bytes = *bytes;
    packet.owner = bytes;
    return packet;
  }

  /// Frames a second, on average as far as they are known.
  AVRational rate() const {
    const std::int64_t frames = begun_ ? 1 : static_cast<std::int64_t>(places_.size());
    const std::int64_t ticks = begun_ ? begun_->duration : length();
    AVRational result{};
    av_reduce(&result.num, &result.den, frames * 1000, ticks, INT_MAX);
    return result;
  }

  void describe_stream(const Head& head, const WebpCanvas& canvas) {
    context_.reset(avformat_alloc_context());
    if (!context_) throw std::bad_alloc();
    context_->iformat = av_find_input_format("webp_pipe");
    check(context_->iformat != nullptr, ErrorCode::unsupported, "{}: this FFmpeg has no WebP",
          source_->name());
    AVStream* stream = avformat_new_stream(context_.get(), nullptr);
    if (!stream) throw std::bad_alloc();
    stream->time_base = {1, 1000};
    stream->avg_frame_rate = rate();
    stream->start_time = 0;
    stream->nb_frames = static_cast<std::int64_t>(places_.size());
    if (length() > 0) stream->duration = length();
    AVCodecParameters& parameters = *stream->codecpar;
    parameters.codec_type = AVMEDIA_TYPE_VIDEO;
    parameters.codec_id = AV_CODEC_ID_WEBP;
    parameters.width = canvas.width;
    parameters.height = canvas.height;
    parameters.format = AV_PIX_FMT_RGBA;
    parameters.color_space = AVCOL_SPC_RGB;
    parameters.color_range = AVCOL_RANGE_JPEG;
    set_extradata(parameters, head);
    streams_.push_back(describe(context_.get(), *stream));
  }

  SoleUse use_{"Demuxer"};
  SourcePtr source_;
  Limits limits_;
  StopWatch stop_;
  WebpReader reader_;
  std::unique_ptr<AVFormatContext, FormatFree>
      context_; ///< Describes the stream to the module's other files.
  std::string format_{webp_format};
  std::map<std::string, std::string> metadata_;
  std::vector<StreamInfo> streams_;
  std::vector<WebpPlace> places_; ///< Of all frames, where the source can go back.
  std::size_t place_ = 0;         ///< Of the next one.
  std::optional<Packet> begun_;   ///< The first one, where it cannot.
  std::exception_ptr error_;      ///< Behind the last frame.
  std::string damage_;
  bool selected_ = true, after_seek_ = false;
};

} // namespace

std::unique_ptr<Demuxer> open_animated_webp(SourcePtr& source, const DemuxerOptions& options) {
  options.cancel.check();
  Head head{};
  std::size_t count = 0;
  while (count < head.size()) {
    const std::size_t more = source->read_at(count, std::span(head).subspan(count));
    if (more == 0) break;
    count += more;
  }
  if (!source->seekable()) source = std::make_shared<BegunSource>(source, head, count);
  const auto canvas = animated_webp(Bytes(head).first(count));
  if (!canvas) return nullptr;
  return std::make_unique<WebpDemuxer>(source, options, head, *canvas);
}

} // namespace lanner::ffmpeg
