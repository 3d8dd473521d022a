#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/bitstream/h264_slice_qp.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/write/encoder_choice.h"
#include "video/ffmpeg/write/encoder_session.h"
#include "video/ffmpeg/write/palette.h"
#include "video/write/default_times.h"
#include "video/write/encoder_options.h"
#include "video/write/stream_insert.h"

namespace lanner::ffmpeg {

namespace {

/// Type and mean QP, where the encoder tells them.
void note_statistics(const AVPacket& from, Packet& packet) {
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(&from, AV_PKT_DATA_QUALITY_STATS, &size);
  if (!data || size < 5) return;
  const std::uint32_t lambda =
      data[0] | data[1] << 8 | data[2] << 16 | static_cast<std::uint32_t>(data[3]) << 24;
  if (lambda > 0 && lambda <= INT32_MAX) packet.average_qp = static_cast<float>(lambda) / FF_QP2LAMBDA;
  if (data[4] == AV_PICTURE_TYPE_I) packet.picture_type = PictureType::i;
  if (data[4] == AV_PICTURE_TYPE_P) packet.picture_type = PictureType::p;
  if (data[4] == AV_PICTURE_TYPE_B) packet.picture_type = PictureType::b;
}

void replace_bytes(AVPacket& packet, const std::vector<std::byte>& bytes) {
  AVBufferRef* buffer = av_buffer_allocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  if (!buffer) throw std::bad_alloc();
  std::memcpy(buffer->data, bytes.data(), bytes.size());
  av_buffer_unref(&packet.buf);
  packet.buf = buffer;
  packet.data = buffer->data;
  packet.size = static_cast<int>(bytes.size());
}

class FfmpegEncoder final : public Encoder {
public:
  explicit FfmpegEncoder(const EncoderOptions& options)
      : options_(options), asked_color_(options.color), ticks_are_frames_(options.time_base.den <= 0) {
    check_encoder_options(options_, true);
    EncoderOptions asked = options_;
    tell_rate(asked);
    session_ = std::make_unique<EncoderSession>(asked);
    options_.color = asked.color;
    times_.set_rate(options_.rate, session_->stream().time_base);
    begin_session();
  }

  const StreamInfo& stream() const noexcept override { return stream_; }

  bool send(const Image* image, std::int64_t pts, const PictureRequest& request) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "encoder: picture after the end");
    check_threads(session_->context());
    if (!image) return send_end();
    if (pts == no_pts) pts = times_.next();
    check(last_pts_ == no_pts || pts > last_pts_, ErrorCode::invalid_argument,
          "encode: pts {} after pts {}; expected presentation order", pts, last_pts_);
    inserter_.check_messages(request.sei);
    check(!request.emit_headers || inserter_.takes_headers(), ErrorCode::unsupported,
          "encode: emit_headers: {} has no parameter sets", session_->codec().name);
    check_picture(*image);
    if (request.force_idr && !next_session_ && !session_->forces_keyframes() && pictures_ > 0)
      restart("force_idr");
    if (next_session_) switch_session(pts);
    FramePtr frame = prepare(*image);
    frame->pts = pts;
    if (palette_) {
      palette_->send(std::move(frame));
      send_mapped();
      return taken(pts, request);
    }
    const bool pending = std::exchange(force_next_, false);
    if (request.force_idr || pending) frame->pict_type = AV_PICTURE_TYPE_I;
    const int status = session_->send(frame.get());
    if (status == AVERROR(EAGAIN)) {
      force_next_ = pending;
      return false;
    }
    check_sent(status);
    return taken(pts, request);
  }

  std::optional<Packet> receive() override {
    const SoleUse::Call call(use_);
    check_threads(session_->context());
    if (!ready_.empty()) {
      Packet packet = std::move(ready_.front());
      ready_.pop_front();
      return packet;
    }
    return receive_one();
  }

  bool finished() const noexcept override { return finished_ && ready_.empty(); }

  EncoderReconfigure reconfigurable() const override { return reconfigurable_state(options_); }

  void reconfigure(const EncoderReconfigure& change) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "encoder: reconfigure() after the end");
    const EncoderOptions changed = changed_options(options_, change);
    const std::string names = changes_between(options_, changed);
    check(!options_.global_header || (changed.width == options_.width && changed.height == options_.height),
          ErrorCode::unsupported,
          "reconfigure: size {}x{}: the headers lie apart (global_header), where there is place for one size",
          changed.width, changed.height);
    if (!names.empty() && changes_live(changed)) {
      AVCodecContext& context = *session_->context();
      context.bit_rate = changed.bit_rate;
      context.rc_max_rate = bound_of_rate(changed);
      context.rc_buffer_size = static_cast<int>(vbv_bits(changed));
      options_ = changed;
    } else if (!names.empty()) {
      restart_with(changed, names);
    }
    if (change.force_idr && !next_session_ && !session_->forces_keyframes() && pictures_ > 0)
      restart("force_idr");
    force_next_ = force_next_ || change.force_idr;
  }

  const std::vector<EncoderRestart>& restarts() const noexcept override { return restarts_; }

private:
  bool taken(std::int64_t pts, const PictureRequest& request) {
    if (request.emit_headers || !request.sei.empty()) requests_[pts] = request;
    if (first_pts_ == no_pts) first_pts_ = pts;
    last_pts_ = pts;
    times_.take(pts);
    ++pictures_;
    return true;
  }

  /// All pictures that have their palette, of which the codec takes one at a time.
  void send_mapped() {
    while (const FramePtr frame = palette_->receive()) {
      check_sent(session_->send(frame.get()));
      while (std::optional<Packet> packet = receive_one()) ready_.push_back(std::move(*packet));
    }
  }

  /// libx264 takes these as it runs, once it has a VBV and does not describe it in the stream.
  bool changes_live(const EncoderOptions& changed) const {
    if (!std::string_view(session_->codec().name).starts_with("libx264")) return false;
    EncoderOptions rest = changed;
    rest.bit_rate = options_.bit_rate;
    rest.max_bit_rate = options_.max_bit_rate;
    rest.vbv_buffer_size = options_.vbv_buffer_size;
    const bool buffered = bound_of_rate(options_) > 0 && bound_of_rate(changed) > 0;
    return changes_between(options_, rest).empty() && buffered && !options_.hrd && options_.bit_rate > 0 &&
           !next_session_;
  }

  /// Before anything changes the new session has to open.
  void restart_with(EncoderOptions changed, const std::string& reason) {
    changed.color = asked_color_;
    EncoderOptions asked = changed;
    tell_rate(asked);
    next_session_ = std::make_unique<EncoderSession>(asked);
    changed.color = asked.color;
    if (changed.rate != options_.rate) times_.set_rate(changed.rate, stream_.time_base);
    options_ = changed;
    restart_reason_ = restart_reason_.empty() ? reason : restart_reason_ + ", " + reason;
    if (pictures_ > 0) return;
    session_ = std::move(next_session_); // It took no picture yet.
    restart_reason_.clear();
    begin_session();
  }
  /// Where no time base was asked for, ticks are frames of the first rate. libx264 would go on to take them
  /// for its frames, in the stream's timing and in the bits that it gives each; so would its HRD take finer
  /// ones.
  void tell_rate(EncoderOptions& options) const {
    const bool others =
        options.time_base.den > 0 && options.time_base != Rational{options.rate.den, options.rate.num};
    if (!(ticks_are_frames_ || options.hrd) || !others) return;
    if (!std::string_view(find_encoder(options)->name).starts_with("libx264")) return;
    std::string& own = options.codec_options["x264-params"];
    own += own.empty() ? "force-cfr=1" : ":force-cfr=1";
  }
  void restart(const std::string& reason) { restart_with(options_, reason); }

  /// All packets of the old session come first.
  void switch_session(std::int64_t pts) {
    const auto drain = [&] {
      while (std::optional<Packet> packet = receive_one()) ready_.push_back(std::move(*packet));
    };
    // An encoder learns how late its decoding times are with one picture more than it reorders; those of a
    // shorter session would begin without that delay, and so after those of the next.
    const int delay = reordered_pictures();
    if (pictures_ <= delay) late_ = delay * times_.step();
    if (palette_) palette_->send_end(), send_mapped();
    int status = session_->send(nullptr);
    for (; status == AVERROR(EAGAIN); status = session_->send(nullptr)) drain();
    check_sent(status);
    drain();
    check(finished_, ErrorCode::internal, "encode: {} did not end", session_->codec().name);
    finished_ = false;
    session_ = std::move(next_session_);
    restarts_.push_back({pts, std::exchange(restart_reason_, {})});
    begin_session();
  }

  /// By how many pictures decoding times precede presentation times. libx265 does not tell FFmpeg.
  int reordered_pictures() const {
    constexpr int of_libx265 = 2;
    const AVCodecContext& context = *session_->context();
    const bool libx265 = std::string_view(session_->codec().name) == "libx265" && context.max_b_frames != 0;
    return libx265 ? std::max(of_libx265, context.has_b_frames) : context.has_b_frames;
  }

  void begin_session() {
    first_packet_ = true;
    pictures_ = late_ = 0;
    frame_ticks_ = times_.step();
    headers_ = session_->headers();
    palette_.reset();
    if (session_->frame_format() == AV_PIX_FMT_PAL8)
      palette_ = std::make_unique<PaletteMapper>(options_.width, options_.height, options_.codec_options);
    stream_ = session_->stream();
    inserter_ = StreamInserter(stream_.codec);
    slice_qp_.reset();
    if (stream_.codec == "h264") slice_qp_.emplace().see(headers_);
    keyframe_messages_.clear();
    const bool av1 = stream_.codec == "av1";
    if (options_.mastering_display)
      keyframe_messages_.push_back(mastering_display_message(*options_.mastering_display, av1));
    if (options_.content_light)
      keyframe_messages_.push_back(content_light_message(*options_.content_light, av1));
  }

  bool send_end() {
    next_session_.reset();
    if (palette_) palette_->send_end(), send_mapped();
    const int status = session_->send(nullptr);
    if (status == AVERROR(EAGAIN)) return false;
    check_sent(status);
    draining_ = true;
    return true;
  }

  void check_sent(int status) const {
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
          "encode: {}: {}", session_->codec().name, error_text(status));
  }

  /// libx265 3.5 computes dts from a delay that it does not set where fewer pictures were sent than it holds
  /// back: any number then.
  std::int64_t plausible_dts(std::int64_t dts, std::int64_t pts) const {
    constexpr std::int64_t reordered = 4, most_delay = 1024; // Frames.
    const std::int64_t earliest = first_pts_ - (last_pts_ - first_pts_) - most_delay * frame_ticks_;
    if (dts == AV_NOPTS_VALUE || (dts <= pts && dts >= earliest)) return dts;
    return std::min(pts, last_dts_ == no_pts ? pts - reordered * frame_ticks_ : last_dts_ + 1);
  }

  std::optional<Packet> receive_one() {
    int status = 0;
    PacketPtr packet = session_->receive(status);
    if (packet) return finish_packet(std::move(packet));
    if (status == AVERROR_EOF) finished_ = true;
    check(status == AVERROR(EAGAIN) || status == AVERROR_EOF, ErrorCode::internal, "encode: {}: {}",
          session_->codec().name, error_text(status));
    return std::nullopt;
  }

  /// With what was asked for its picture put in, and times that grow over restarts.
  Packet finish_packet(PacketPtr from) {
    const bool key = from->flags & AV_PKT_FLAG_KEY;
    const Bytes bytes{reinterpret_cast<const std::byte*>(from->data), static_cast<std::size_t>(from->size)};
    // SVT-AV1's header apart is not the one in the stream, which decoders would take for a new stream.
    if (key && inserter_.has_headers(bytes)) headers_ = inserter_.headers_of(bytes);
    std::vector<SeiMessage> messages = key ? keyframe_messages_ : std::vector<SeiMessage>();
    bool emit = wants_headers(key);
    if (const auto asked = requests_.find(from->pts); asked != requests_.end()) {
      emit = emit || asked->second.emit_headers;
      messages.insert(messages.end(), asked->second.sei.begin(), asked->second.sei.end());
      requests_.erase(asked);
    }
    emit = emit && !inserter_.has_headers(bytes);
    if (emit || !messages.empty())
      replace_bytes(*from, inserter_.inserted(bytes, emit ? Bytes(headers_) : Bytes(), messages));
    first_packet_ = false;
    from->dts = plausible_dts(from->dts, from->pts);
    if (from->dts != AV_NOPTS_VALUE) from->dts -= late_;
    if (from->dts != AV_NOPTS_VALUE && last_dts_ != no_pts && from->dts <= last_dts_)
      from->dts = std::min(last_dts_ + 1, from->pts);
    if (from->dts != AV_NOPTS_VALUE) last_dts_ = from->dts;
    const PacketPtr statistics = std::move(from);
    PacketPtr given = make_packet();
    check(av_packet_ref(given.get(), statistics.get()) >= 0, ErrorCode::out_of_memory,
          "packet: memory was refused by the system");
    Packet packet = to_packet(std::move(given));
    note_statistics(*statistics, packet);
    if (slice_qp_) { // With threads libx264 tells the QP of a picture that it is about to begin.
      slice_qp_->see(packet.bytes);
      packet.average_qp = slice_qp_->mean(packet.bytes).value_or(-1.0F);
    }
    return packet;
  }

  bool wants_headers(bool key) const {
    if (!inserter_.takes_headers()) return false;
    if (first_packet_ &&
        (!restarts_.empty() || (!options_.global_header && !options_.repeat_headers.value_or(true))))
      return true;
    return key && options_.repeat_headers.value_or(false);
  }

  ColorInfo completed(const Image& image) const {
    ColorInfo color = image.color;
    if (color.range == ColorRange::unspecified) color.range = ColorRange::limited;
    if (color.matrix == ColorMatrix::unspecified || color.matrix == ColorMatrix::rgb)
      color.matrix = image.height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
    return color;
  }

  // Matrix and range count as the same when the encoder would convert nothing.
  bool same_colors(const Image& image) const {
    if (!format_info(image.format).yuv) return true;
    const ColorInfo given = completed(image);
    return given.matrix == options_.color.matrix && given.range == options_.color.range;
  }

  /// Opacity may be added.
  static bool keeps_colors(PixelFormat from, PixelFormat to) {
    const bool opaque = to == PixelFormat::rgba32 || to == PixelFormat::bgra32;
    return keeps_samples(from, to) || (opaque && keeps_samples(from, PixelFormat::rgb24));
  }

  void check_picture(const Image& image) const {
    check(image.defined() && image.width == options_.width && image.height == options_.height,
          ErrorCode::invalid_argument, "encode: picture of {}x{}, the encoder was created for {}x{}",
          image.width, image.height, options_.width, options_.height);
    check(image.device.is_host(), ErrorCode::unsupported,
          "encode: picture lies on {}; copy it to the host first", image.device.to_string());
    const bool padded = session_->frame_format() == AV_PIX_FMT_BGR0;
    const PixelFormat stored = padded ? PixelFormat::rgb24 : session_->target().format;
    check(
        options_.tuning != Tuning::lossless || (keeps_colors(image.format, stored) && same_colors(image)),
        ErrorCode::invalid_argument,
        "encode: tuning lossless with a picture of {} {} {}, which would be converted to {} {} {}; give the "
        "encoder that format and these colours",
        to_string(image.format), to_string(image.color.matrix), to_string(image.color.range),
        to_string(stored), to_string(options_.color.matrix), to_string(options_.color.range));
  }

  FramePtr prepare(const Image& image) {
    const PixelFormat stored = session_->target().format;
    Image input = image;
    const bool fits = image.format == stored && same_colors(image);
    // Callers may change their pictures after the call.
    if (!fits || !image.owner || palette_ || !session_->copies_input()) {
      input = Image::allocate(stored, image.width, image.height);
      input.color = options_.color;
      convert_image(image, input);
    }
    return to_av(input, palette_ ? AV_PIX_FMT_BGRA : session_->frame_format());
  }

  SoleUse use_{"Encoder"};
  EncoderOptions options_;
  ColorInfo asked_color_;
  std::unique_ptr<EncoderSession> session_, next_session_; ///< The next takes over with the next picture.
  std::unique_ptr<PaletteMapper> palette_;                 ///< Of codecs whose pictures have 256 colours.
  std::string restart_reason_;
  std::vector<EncoderRestart> restarts_;
  StreamInfo stream_;
  StreamInserter inserter_;
  std::vector<std::byte> headers_;
  std::vector<SeiMessage> keyframe_messages_;
  std::map<std::int64_t, PictureRequest> requests_; ///< By the pts of their pictures.
  std::deque<Packet> ready_;
  DefaultTimes times_;
  bool ticks_are_frames_; ///< Of the first rate.
  std::int64_t first_pts_ = no_pts, last_pts_ = no_pts, last_dts_ = no_pts;
  std::optional<H264SliceQp> slice_qp_;  ///< Of H.264.
  bool first_packet_ = true;             ///< Of the session.
  std::int64_t pictures_ = 0, late_ = 0; ///< Of the session: sent so far, ticks off its decoding times.
  std::int64_t frame_ticks_ = 1;         ///< Of the session.
  bool force_next_ = false, draining_ = false, finished_ = false;
};

} // namespace

std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options) {
  return std::make_unique<FfmpegEncoder>(options);
}

} // namespace lanner::ffmpeg
