#include <algorithm>
#include <utility>

#include <lanner/threads.h>

#include "base/check.h"
#include "base/limit_error.h"
#include "base/sole_use.h"
#include "video/damaged_picture.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/frame_memory.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"
#include "video/frame_budget.h"
#include "video/sei.h"

namespace lanner::ffmpeg {

namespace {

// Frame threads hold back a frame each. The flag makes dav1d do the same as without them; decoders of codecs
// that reorder would take it for the caller's word that the stream does not, and theirs need none.
void suit_low_latency(AVCodecContext& context) {
  context.thread_type = FF_THREAD_SLICE;
  if (context.codec_id == AV_CODEC_ID_H264) context.thread_count = 1; // Slice threads do not mark damage.
  if (context.codec_id == AV_CODEC_ID_AV1) context.flags |= AV_CODEC_FLAG_LOW_DELAY;
}

// A frame waits for rows of the frame that it refers to. Two more than there are cores keep them busy then,
// and while frames are converted. Each thread holds a picture: see Note [Pictures in flight].
int suitable_threads(const StreamInfo& stream, const DecoderOptions& options) {
  const int cores = default_threads();
  const int wanted = options.threads > 0 ? options.threads : cores > 1 ? std::min(cores + 2, 16) : 1;
  const std::uint64_t budget =
      options.threads > 0 ? options.limits.total_bytes : budget_of_frames(options.limits);
  return fitting(budget / 2, picture_bytes(stream), wanted);
}

CodecContextPtr open_codec(const StreamInfo& stream, const DecoderOptions& options, FrameMemory& memory) {
  const ParametersPtr parameters = to_parameters(stream);
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  check(codec != nullptr, ErrorCode::unsupported,
        "decoder for '{}' is not in FFmpeg {}; `lanner doctor` lists those that are", stream.codec,
        av_version_info());
  check(codec->type == AVMEDIA_TYPE_VIDEO, ErrorCode::invalid_argument, "stream {} is {}, not video",
        stream.index, stream.kind);
  CodecContextPtr context(avcodec_alloc_context3(codec));
  if (!context) throw std::bad_alloc();
  check(avcodec_parameters_to_context(context.get(), parameters.get()) >= 0, ErrorCode::bad_data,
        "stream {}: its description is malformed", stream.index);
  context->pkt_timebase = from_rational(stream.time_base);
  context->thread_count = suitable_threads(stream, options);
  limited_product("pixels", options.limits.pixels, static_cast<std::uint64_t>(std::max(0, stream.width)),
                  static_cast<std::uint64_t>(std::max(0, stream.height)), "pixels of a picture");
  context->max_pixels = static_cast<std::int64_t>(std::min<std::uint64_t>(options.limits.pixels, INT64_MAX));
  context->flags |= AV_CODEC_FLAG_UNALIGNED; // Crops to the exact pixel.
  if (options.latency == Latency::low) suit_low_latency(*context);
  if (options.sei) carry_marks(*context);
  memory.serve(*context);
  clear_logged_error();
  const int status = avcodec_open2(context.get(), codec, nullptr);
  check(status >= 0, error_code(status), "stream {}: cannot open decoder {}: {}", stream.index, codec->name,
        error_text(status));
  return context;
}

class FfmpegDecoder final : public Decoder {
public:
  FfmpegDecoder(const StreamInfo& stream, const DecoderOptions& options, const std::string& reason)
      : options_(options), reason_(reason), memory_(options.limits.total_bytes) {
    reset(stream);
  }

  bool send(const Packet* packet) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "decoder: packet after the end; flush() first");
    check_threads(context_);
    clear_logged_error();
    PacketPtr input;
    if (packet) {
      if (packet->bytes.empty()) return true; // FFmpeg would take it for the end.
      input = to_av(*packet);
    }
    const int status = options_.sei && input ? send_marked(*context_, *input, packets_sent_ + 1)
                                             : avcodec_send_packet(context_.get(), input.get());
    require_memory();
    if (status == AVERROR(EAGAIN)) return false;
    draining_ = packet == nullptr;
    if (options_.sei && packet) sei_waiting_.add(++packets_sent_, sei_scanner_.scan(packet->bytes));
    if (status < 0) report(status);
    return true;
  }

  std::optional<Frame> receive() override {
    const SoleUse::Call call(use_);
    check_threads(context_);
    while (true) {
      clear_logged_error();
      if (!spare_) spare_ = make_frame();
      const int status = avcodec_receive_frame(context_.get(), spare_.get());
      require_memory();
      if (status == AVERROR(EAGAIN)) return std::nullopt;
      if (status == AVERROR_EOF) {
        finished_ = true;
        return std::nullopt;
      }
      FrameMemory::take_in();
      if (status >= 0) return to_frame(std::exchange(spare_, nullptr));
      report(status);
    }
  }

  bool finished() const noexcept override { return finished_; }

  void flush() override {
    const SoleUse::Call call(use_);
    check_threads(context_);
    avcodec_flush_buffers(context_.get());
    sei_waiting_.clear();
    draining_ = finished_ = false;
  }

  void reset(const StreamInfo& stream) override {
    const SoleUse::Call call(use_);
    CodecContextPtr fresh = open_codec(stream, options_, memory_);
    context_ = std::move(fresh);
    time_base_ = stream.time_base;
    rotation_ = stream.rotation;
    sample_aspect_ = stream.sample_aspect;
    draining_ = finished_ = false;
    sei_scanner_ = SeiScanner(stream);
    sei_waiting_.clear();
  }

  Device device() const noexcept override { return {}; }
  const std::string& reason() const noexcept override { return reason_; }

  std::string description() const override {
    const SoleUse::Call call(use_);
    const int threads = context_->active_thread_type ? context_->thread_count : 1;
    return fmt::format("ffmpeg {}, {} thread{}", context_->codec->name, threads, threads == 1 ? "" : "s");
  }

private:
  void require_memory() {
    check(!memory_.take_refusal(), ErrorCode::limit_exceeded,
          "decode: {}: frames in use would take more than the limit total_bytes of {}; let go of some, or "
          "raise it with --limit total_bytes=N",
          context_->codec->name, options_.limits.total_bytes);
  }

  // Concealing goes on with the next packet; what memory or a limit refused is never concealed.
  void report(int status) {
    if (!options_.raise_on_error && status != AVERROR(ENOMEM)) return;
    const std::string text = fmt::format("decode: {}: {}", context_->codec->name, error_text(status));
    if (error_code(status) == ErrorCode::bad_data) throw DamagedPicture(text);
    throw Error(error_code(status), text);
  }

  Frame to_frame(FramePtr from) {
    Frame frame;
    frame.pts = to_pts(from->best_effort_timestamp);
    frame.duration = std::max<std::int64_t>(0, duration_of(*from));
    frame.time_base = time_base_;
    const std::int32_t* matrix = display_matrix(*from);
    frame.rotation = matrix ? rotation_of(matrix) : rotation_;
    frame.sample_aspect =
        from->sample_aspect_ratio.num > 0 ? to_rational(from->sample_aspect_ratio) : sample_aspect_;
    frame.key = is_key(*from);
    frame.corrupt = (from->flags & AV_FRAME_FLAG_CORRUPT) || from->decode_error_flags;
    frame.interlaced = is_interlaced(*from);
    frame.top_field_first = frame.interlaced && is_top_field_first(*from);
    if (options_.sei) frame.sei = sei_waiting_.take(mark_of(*from));
    if (frame.corrupt && options_.raise_on_error)
      throw DamagedPicture(fmt::format("decode: {}", context_->codec->name), frame.pts);
    frame.image = to_image(std::move(from), options_.limits);
    return frame;
  }

  mutable SoleUse use_{"Decoder"};
  DecoderOptions options_;
  std::string reason_;
  FrameMemory memory_; ///< Before the context, which decodes into it.
  CodecContextPtr context_;
  FramePtr spare_; ///< Filled by the next receive().
  SeiScanner sei_scanner_;
  SeiQueue sei_waiting_; ///< By the place of their packets among those sent, from 1.
  std::int64_t packets_sent_ = 0;
  Rational time_base_;
  double rotation_ = 0;
  Rational sample_aspect_{1, 1};
  bool draining_ = false, finished_ = false;
};

} // namespace

std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options,
                                        const std::string& reason) {
  return std::make_unique<FfmpegDecoder>(stream, options, reason);
}

} // namespace lanner::ffmpeg
