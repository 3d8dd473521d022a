#include <algorithm>
#include <string_view>
#include <utility>

#include "video/ffmpeg/av.h"
#include "video/ffmpeg/byte_io.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"

namespace lanner::ffmpeg {

namespace {

struct FormatClose {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
};
using FormatPtr = std::unique_ptr<AVFormatContext, FormatClose>;

// Note [Nested opens]
// Some formats are lists of other files: playlists, concat scripts, numbered images. A file of one name must
// not make Lanner read another, so they are refused by name right after probing; every open that FFmpeg asks
// for goes to `io_open`, which refuses it; and formats that open contexts of their own inherit a protocol
// whitelist that matches nothing. The source's name never reaches FFmpeg, which would otherwise read patterns
// and extensions in it.
constexpr std::string_view nesting_formats[] = {
    "hls",  "applehttp", "concat", "dash",     "imf",  "image2", "webm_dash_manifest",
    "rtsp", "sdp",       "vobsub", "avisynth", "lavfi"};

bool nests(const AVInputFormat& format) {
  std::string_view names = format.name;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    if (std::find(std::begin(nesting_formats), std::end(nesting_formats), name) != std::end(nesting_formats))
      return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

class FfmpegDemuxer final : public Demuxer {
public:
  FfmpegDemuxer(SourcePtr source, const DemuxerOptions& options)
      : options_(options), stop_(options.cancel, options.limits.seconds), reader_(std::move(source), stop_) {
    clear_logged_error();
    const AVInputFormat* format = choose_format();
    open(format);
    probe_streams();
    format_name_ = context_->iformat->name;
    for (unsigned i = 0; i < context_->nb_streams; ++i)
      streams_.push_back(describe(context_.get(), *context_->streams[i]));
    best_video_ = find_best_video();
  }

  const std::string& format() const noexcept override { return format_name_; }
  const std::vector<StreamInfo>& streams() const noexcept override { return streams_; }
  double duration() const noexcept override {
    const std::int64_t ticks = context_->duration;
    return ticks == AV_NOPTS_VALUE || ticks < 0 ? 0 : static_cast<double>(ticks) / AV_TIME_BASE;
  }
  int best_video() const noexcept override { return best_video_; }

  void select(std::span<const int> streams) override {
    for (const int stream : streams) require_stream(stream);
    for (unsigned i = 0; i < context_->nb_streams; ++i) {
      const bool wanted = std::find(streams.begin(), streams.end(), static_cast<int>(i)) != streams.end();
      context_->streams[i]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
  }

  std::optional<Packet> next() override {
    stop_.restart();
    while (true) {
      stop_.check();
      PacketPtr packet = make_packet();
      clear_logged_error();
      const int status = av_read_frame(context_.get(), packet.get());
      reader_.rethrow();
      if (status == AVERROR(EAGAIN)) continue;
      if (status == AVERROR_EOF) {
        // Containers that end before their own tables say so only by an error in the log.
        if (has_logged_error()) damage_ = fmt::format("{}: ends early: {}", name(), error_text(status));
        return std::nullopt;
      }
      if (status < 0) fail_reading("read", status);
      check(static_cast<std::uint64_t>(packet->size) <= options_.limits.packet_bytes,
            ErrorCode::limit_exceeded, "{}: packet of {} bytes, Limits::packet_bytes is {}", name(),
            packet->size, options_.limits.packet_bytes);
      if (static_cast<std::size_t>(packet->stream_index) >= streams_.size()) adopt_new_streams();
      return to_packet(std::move(packet));
    }
  }

  const std::string& damage() const noexcept override { return damage_; }

  void seek(int stream, std::int64_t pts) override {
    require_stream(stream);
    seek_by(stream, from_pts(pts), AVSEEK_FLAG_BACKWARD);
  }

  void seek_to_byte(std::int64_t pos) override {
    check(!(context_->iformat->flags & AVFMT_NO_BYTE_SEEK) && context_->iformat->flags & AVFMT_GENERIC_INDEX,
          ErrorCode::unsupported, "{}: format {} cannot be entered at a byte", name(), format_name_);
    check(pos >= 0, ErrorCode::invalid_argument, "{}: byte {}, expected 0 or more", name(), pos);
    seek_by(-1, pos, AVSEEK_FLAG_BYTE);
  }

private:
  const std::string& name() { return reader_.source().name(); }

  void seek_by(int stream, std::int64_t target, int flags) {
    check(reader_.source().seekable(), ErrorCode::unsupported, "{}: cannot seek: the source cannot go back",
          name());
    stop_.restart();
    clear_logged_error();
    const int status = av_seek_frame(context_.get(), stream, target, flags);
    reader_.rethrow();
    stop_.check();
    if (status < 0) fail_reading("seek", status);
  }

  void require_stream(int stream) {
    check(stream >= 0 && static_cast<std::size_t>(stream) < streams_.size(), ErrorCode::invalid_argument,
          "{}: no stream {}; there are {}", name(), stream, streams_.size());
  }

  [[noreturn]] void fail_reading(std::string_view what, int status) {
    reader_.rethrow();
    stop_.check();
    if (!refused_.empty())
      fail(ErrorCode::unsupported,
           "{}: asks to open another file, '{}': refused (allow_nested_opens permits it)", name(), refused_);
    const ErrorCode code = error_code(status);
    fail(code == ErrorCode::cancelled ? ErrorCode::bad_data : code, "{}: cannot {}: {}", name(), what,
         error_text(status));
  }

  const AVInputFormat* choose_format() {
    const AVInputFormat* format = nullptr;
    if (!options_.format.empty()) {
      format = av_find_input_format(options_.format.c_str());
      check(format != nullptr, ErrorCode::unsupported,
            "{}: no demuxer '{}' in FFmpeg {}; leave the format empty to probe", name(), options_.format,
            av_version_info());
    } else {
      const int status = probe_format(reader_.context(), &format);
      if (status == AVERROR_INVALIDDATA) {
        reader_.rethrow();
        stop_.check();
        fail(ErrorCode::bad_data,
             "{}: no known video or image format: expected a container such as MP4, MKV or AVI, "
             "or an elementary stream",
             name());
      }
      if (status < 0) fail_reading("probe the format", status);
    }
    check(options_.allow_nested_opens || !nests(*format), ErrorCode::unsupported,
          "{}: format {} would open other files: refused (allow_nested_opens permits it)", name(),
          format->name);
    return format;
  }

  void open(const AVInputFormat* format) {
    AVFormatContext* context = avformat_alloc_context();
    if (!context) throw std::bad_alloc();
    context->pb = reader_.context();
    context->flags |= AVFMT_FLAG_CUSTOM_IO;
    context->opaque = this;
    context->interrupt_callback = {interrupted, this};
    context->max_streams = static_cast<int>(std::min<std::uint32_t>(options_.limits.streams, 1u << 20));
    if (!options_.allow_nested_opens) context->io_open = refuse_open;
    Dictionary settings;
    settings.set("protocol_whitelist", options_.allow_nested_opens ? "file" : "none");
    const std::string url = options_.allow_nested_opens ? name() : "";
    const int status = avformat_open_input(&context, url.c_str(), format, settings.out());
    context_.reset(context); // Null after a failure: FFmpeg has freed it.
    if (status < 0) fail_reading(fmt::format("open as {}", format->name), status);
  }

  void probe_streams() {
    const int status = avformat_find_stream_info(context_.get(), nullptr);
    if (status < 0) fail_reading("read the streams", status);
    reader_.rethrow();
    stop_.check();
  }

  // Formats without a header (MPEG-TS) may show streams late.
  void adopt_new_streams() {
    check(context_->nb_streams <= options_.limits.streams, ErrorCode::limit_exceeded,
          "{}: {} streams, Limits::streams is {}", name(), context_->nb_streams, options_.limits.streams);
    for (std::size_t i = streams_.size(); i < context_->nb_streams; ++i)
      streams_.push_back(describe(context_.get(), *context_->streams[i]));
  }

  int find_best_video() {
    const int best = av_find_best_stream(context_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    return best < 0 ? -1 : best;
  }

  static int interrupted(void* self) { return static_cast<FfmpegDemuxer*>(self)->stop_.stopped(); }

  static int refuse_open(AVFormatContext* context, AVIOContext**, const char* url, int,
                         AVDictionary**) noexcept {
    auto* self = static_cast<FfmpegDemuxer*>(context->opaque);
    try {
      self->refused_.clear();
      for (const char* c = url; *c && self->refused_.size() < 200; ++c)
        self->refused_ +=
            static_cast<unsigned char>(*c) < 0x20 || static_cast<unsigned char>(*c) >= 0x7f ? '?' : *c;
    } catch (...) { // Without the name the refusal still stands.
    }
    return AVERROR(EPERM);
  }

  DemuxerOptions options_;
  StopWatch stop_;
  SourceReader reader_;
  std::string refused_, damage_;
  FormatPtr context_; // After reader_: closing may still read.
  std::string format_name_;
  std::vector<StreamInfo> streams_;
  int best_video_ = -1;
};

} // namespace

std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options) {
  check(source != nullptr, ErrorCode::invalid_argument, "open_demuxer: no source was given");
  return std::make_unique<FfmpegDemuxer>(std::move(source), options);
}

} // namespace lanner::ffmpeg
