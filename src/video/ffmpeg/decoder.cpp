#include <algorithm>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include <lanner/threads.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/threads/sole_use.h"
#include "video/bitstream/bitstream.h"
#include "video/bitstream/sei.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/codec_ahead.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/frame_memory.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/packet_history.h"
#include "video/ffmpeg/picture_parts.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/stream_info.h"
#include "video/ffmpeg/webp/webp_animation.h"
#include "video/read/damaged_picture.h"
#include "video/read/decoder_threads.h"
#include "video/read/frame_budget.h"

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
// and while frames are converted; of small pictures, which have few rows, fewer are ever at work at once.
// Each thread holds a picture: see Note [Pictures in flight].
int suitable_threads(const StreamInfo& stream, const DecoderOptions& options) {
  constexpr int rows_apart = 32;
  const int cores = default_threads();
  const int busy = cores > 1 ? std::min(cores + 2, 16) : 1;
  const int own = stream.height > 0 ? std::clamp(stream.height / rows_apart, 1, busy) : busy;
  const int wanted = options.threads > 0 ? options.threads : own;
  const std::uint64_t budget =
      options.threads > 0 ? options.limits.total_bytes : budget_of_frames(options.limits);
  return fitting(budget / 2, picture_bytes(stream), wanted);
}

[[noreturn]] void fail_without_decoder(const StreamInfo& stream, const AVCodecParameters& parameters) {
  char tag[AV_FOURCC_MAX_STRING_SIZE] = {};
  const std::string called =
      clean_text(parameters.codec_tag ? av_fourcc_make_string(tag, parameters.codec_tag) : "");
  const bool known = parameters.codec_id != AV_CODEC_ID_NONE;
  const bool vvc = stream.codec == "vvc" || called == "vvc1" || called == "vvi1";
  fail(
      ErrorCode::unsupported,
      "stream {}: there is no decoder for {} in FFmpeg {}{}; `lanner doctor` lists those that are there, and "
      "ffmpeg -i CLIP -c:v libx264 other.mp4 makes a clip of another codec where ffmpeg knows this one",
      stream.index,
      known ? fmt::format("'{}'", stream.codec)
            : fmt::format("the codec that its container calls '{}'", called),
      av_version_info(), vvc ? " (VVC, H.266: FFmpeg has one from 7.1 on)" : "");
}

/// Whether threads of their own make decoders of the codec faster.
bool takes_threads(const AVCodec& codec, Latency latency) {
  if (codec.capabilities & AV_CODEC_CAP_OTHER_THREADS) return true;
  if (latency == Latency::low && codec.id == AV_CODEC_ID_H264) return false; // See suit_low_latency().
  const int frames = latency == Latency::low ? 0 : AV_CODEC_CAP_FRAME_THREADS;
  return codec.capabilities & (frames | AV_CODEC_CAP_SLICE_THREADS);
}

CodecContextPtr open_codec(const StreamInfo& stream, const DecoderOptions& options, int threads,
                           FrameMemory& memory) {
  const ParametersPtr parameters = to_parameters(stream);
  const AVCodec* codec = alpha_decoder(stream);
  if (!codec) codec = avcodec_find_decoder(parameters->codec_id);
  if (!codec) fail_without_decoder(stream, *parameters);
  check(codec->type == AVMEDIA_TYPE_VIDEO, ErrorCode::invalid_argument, "stream {} is {}, not video",
        stream.index, stream.kind);
  CodecContextPtr context = make_codec_context(*codec, *parameters, stream);
  context->thread_count = threads;
  limited_product("pixels", options.limits.pixels, static_cast<std::uint64_t>(std::max(0, stream.width)),
                  static_cast<std::uint64_t>(std::max(0, stream.height)), "pixels of a picture");
  context->max_pixels = static_cast<std::int64_t>(std::min<std::uint64_t>(options.limits.pixels, INT64_MAX));
  context->flags |= AV_CODEC_FLAG_UNALIGNED; // Crops to the exact pixel.
  if (options.latency == Latency::low) suit_low_latency(*context);
  carry_marks(*context);
  memory.serve(*context);
  clear_logged_error();
  const int status = avcodec_open2(context.get(), codec, nullptr);
  check(status >= 0, error_code(status), "stream {}: cannot open decoder {}: {}", stream.index, codec->name,
        error_text(status));
  return context;
}

std::optional<WebpAnimation> animation_of(const StreamInfo& stream, const Limits& limits) {
  const auto canvas = stream.codec == "webp" ? animated_webp(stream.extradata) : std::nullopt;
  return canvas ? std::optional<WebpAnimation>(std::in_place, *canvas, limits) : std::nullopt;
}

// Of packets that may be decoded again.
constexpr std::uint64_t most_history_bytes = 64u << 20;

class FfmpegDecoder final : public Decoder {
public:
  FfmpegDecoder(const StreamInfo& stream, const DecoderOptions& options, const std::string& reason)
      : options_(options), reason_(reason), memory_(options.limits.total_bytes),
        history_(std::min(most_history_bytes, options.limits.total_bytes / 16)) {
    reset(stream);
  }
  ~FfmpegDecoder() override { leave_lost(); }

  bool send(const Packet* packet) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "decoder: packet after the end; flush() first");
    require_threads();
    clear_logged_error();
    if (packet && packet->bytes.empty()) return true; // FFmpeg would take it for the end.
    if (!again_.empty()) return false;
    if (!packet) return send_end();
    if (!began_ && !single_) take_threads();
    const std::int64_t mark = packets_sent_ + 1;
    PacketPtr input = to_input(*packet, mark);
    if (!input) return lose(*packet);
    const int status = ahead_ ? ahead_->send(std::move(input), mark) : send_marked(*context_, *input, mark);
    require_memory();
    if (status == AVERROR(EAGAIN)) return false;
    began_ = true;
    ++packets_sent_;
    colors_.see(*packet);
    if (options_.sei) sei_waiting_.add(packets_sent_, sei_scanner_.scan(packet->bytes));
    if (has_threads())
      history_.add(packets_sent_, *input, scanner_->scan(*packet).start == EntryPoint::clean);
    if (status < 0) met(status);
    return true;
  }

  std::optional<Frame> receive() override {
    const SoleUse::Call call(use_);
    require_threads();
    while (true) {
      clear_logged_error();
      if (!spare_) spare_ = make_frame();
      const int status =
          ahead_ ? ahead_->receive(*spare_) : avcodec_receive_frame(context_.get(), spare_.get());
      require_memory();
      if (status >= 0 && spare_->decode_error_flags != 0) FrameMemory::note_error(*context_);
      if (status != AVERROR(EAGAIN) && decodes_again()) continue;
      if (status == AVERROR(EAGAIN)) {
        if (!feed()) return std::nullopt;
      } else if (status == AVERROR_EOF) {
        finished_ = true;
        if (DecoderThreads::scarce()) leave_threads(stream_);
        return std::nullopt;
      } else if (status < 0) {
        met(status);
      } else if (std::optional<Frame> frame = take_frame()) {
        return frame;
      }
    }
  }

  bool finished() const noexcept override { return finished_; }

  void flush() override {
    const SoleUse::Call call(use_);
    const bool lost = context_.get_deleter().lost_threads(*context_) || (ahead_ && ahead_->lost());
    if (single_ || lost) {
      leave_threads(stream_);
    } else {
      ahead_ = nullptr;
      avcodec_flush_buffers(context_.get());
    }
    forget();
    sei_waiting_.clear();
  }

  void reset(const StreamInfo& stream) override {
    const SoleUse::Call call(use_);
    leave_threads(stream);
    stream_ = stream;
    animation_ = animation_of(stream, options_.limits);
    scanner_.emplace(stream);
    colors_ = ColorScanner(stream);
    sei_scanner_ = SeiScanner(stream);
    sei_waiting_.clear();
    forget();
  }

  Device device() const noexcept override { return {}; }
  const std::string& reason() const noexcept override { return reason_; }

  std::string description() const override {
    const SoleUse::Call call(use_);
    const int threads = context_->active_thread_type ? context_->thread_count : began_ ? 1 : threads_ahead();
    return fmt::format("ffmpeg {}, {} thread{}", context_->codec->name, threads, threads == 1 ? "" : "s");
  }

private:
  void require_memory() { require_memory(ahead_ ? ahead_->take_refusal() : memory_.take_refusal()); }
  void require_memory(bool refused) const {
    check(!refused, ErrorCode::limit_exceeded,
          "decode: {}: frames in use would take more than the limit total_bytes of {}; let go of some, or "
          "raise it with --limit total_bytes=N",
          context_->codec->name, options_.limits.total_bytes);
  }

  /// Null for a frame of an animation that holds no picture.
  PacketPtr to_input_of_animation(const Packet& packet, std::int64_t mark) {
    try {
      const std::vector<std::byte> file = animation_->picture(packet, mark);
      Packet still = packet;
      still.bytes = file;
      return to_av(still);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_data) throw;
      lost_ = error.message();
      return nullptr;
    }
  }

  /// A packet whose damage was met before the codec.
  bool lose(const Packet& packet) {
    ++packets_sent_;
    if (options_.raise_on_error)
      throw DamagedPicture(fmt::format("decode: {}: {}", context_->codec->name, lost_), packet.pts);
    return true;
  }

  /// Pictures one by one are pictures' files (picture_parts.h).
  PacketPtr to_input(const Packet& packet, std::int64_t mark) {
    if (animation_) return to_input_of_animation(packet, mark);
    if (!has_parts(context_->codec_id)) return to_av(packet);
    const PictureParts parts = needed_parts(context_->codec_id, packet.bytes, "decode", options_.limits);
    if (parts.changed.empty()) return to_av(packet);
    Packet changed = packet;
    changed.bytes = parts.changed;
    return to_av(changed);
  }

  bool has_threads() const { return !single_ && context_->active_thread_type != 0; }

  // A forked child has no threads of its parent's: a codec without state gets new ones.
  void require_threads() {
    if (!began_ && context_.get_deleter().lost_threads(*context_)) leave_threads(stream_);
    check(!ahead_ || !ahead_->lost(), ErrorCode::unsupported,
          "{}: this process was forked while a picture was decoded, and the thread that decoded it stayed in "
          "the "
          "parent; open the video in the child, or start it by spawn",
          context_->codec->name);
    check_threads(context_);
  }

  /// In a forked child: a codec that a thread of the parent was at work in is in no state to be freed.
  void leave_lost() {
    if (!ahead_ || !ahead_->lost()) return;
    ahead_->abandon();
    static_cast<void>(context_.release());
  }

  /// A codec without state and without threads, which the next packet brings. What was decoded is forgotten.
  void leave_threads(const StreamInfo& stream) {
    CodecContextPtr context = open_codec(stream, options_, 1, memory_);
    leave_lost();
    ahead_ = nullptr;
    context_ = std::move(context);
    threads_.give_back();
    single_ = began_ = false;
    history_.clear();
  }

  /// For the first packet: a decoder that nobody uses has none, and of those that chose their number itself
  /// all in the process share some.
  void take_threads() {
    ahead_ = nullptr;
    const int wanted = suitable_threads(stream_, options_);
    if (wanted <= context_->thread_count || !takes_threads(*context_->codec, options_.latency)) return;
    DecoderThreads taken;
    if (options_.threads <= 0) {
      if (DecoderThreads::offered(wanted) <= context_->thread_count) return use_pool();
      taken = DecoderThreads::take(wanted);
    }
    const int count = options_.threads > 0 ? wanted : taken.count();
    if (count <= context_->thread_count) return use_pool();
    context_ = open_codec(stream_, options_, count, memory_);
    threads_ = std::move(taken);
    pool_ = nullptr;
  }

  /// Where the process has no threads left for this decoder alone.
  void use_pool() {
    if (context_->thread_count > 1 || options_.latency == Latency::low) return;
    pool_ = decoder_pool();
    ahead_ = std::make_unique<CodecAhead>(*context_, memory_);
  }

  /// What the first packet will bring, as far as is known now.
  int threads_ahead() const {
    const AVCodec& codec = *context_->codec;
    const bool told = codec.capabilities & (AV_CODEC_CAP_FRAME_THREADS | AV_CODEC_CAP_SLICE_THREADS);
    if (!told || !takes_threads(codec, options_.latency)) return 1;
    const int wanted = suitable_threads(stream_, options_);
    return options_.threads > 0 ? wanted : DecoderThreads::offered(wanted);
  }

  void forget() {
    if (animation_) animation_->forget();
    history_.clear();
    again_.clear();
    leave_out_ = 0;
    static_cast<void>(memory_.take_error());
    draining_ = finished_ = began_ = false;
  }

  // Whether a codec without threads has taken over. See Note [Damage and threads].
  bool decodes_again() {
    if (!memory_.take_error() || !has_threads() || !history_.complete()) return false;
    context_ = open_codec(stream_, options_, 1, memory_);
    threads_.give_back();
    static_cast<void>(memory_.take_error());
    single_ = true;
    leave_out_ = history_.frames_given();
    again_ = history_.take();
    return true;
  }

  bool send_end() {
    const int status = ahead_ ? ahead_->send(nullptr, 0) : avcodec_send_packet(context_.get(), nullptr);
    require_memory();
    if (status == AVERROR(EAGAIN)) return false;
    draining_ = true;
    if (status < 0) met(status);
    return true;
  }

  /// Gives the codec what it is to decode again, or its end; false when there is no such thing.
  bool feed() {
    int status = 0;
    if (!again_.empty()) {
      const PacketHistory::Entry entry = std::move(again_.front());
      again_.pop_front();
      began_ = true;
      status = send_marked(*context_, *entry.packet, entry.mark);
    } else if (single_ && draining_) {
      status = avcodec_send_packet(context_.get(), nullptr);
      if (status == AVERROR_EOF) return false; // It has it.
    } else {
      return false;
    }
    require_memory();
    if (status < 0) met(status);
    return true;
  }

  std::optional<Frame> take_frame() {
    FrameMemory::take_in();
    if (leave_out_ > 0) {
      --leave_out_;
      spare_.reset();
      return std::nullopt;
    }
    if (has_threads()) history_.gave(mark_of(*spare_));
    FramePtr picture = std::exchange(spare_, nullptr);
    if (animation_ && !draw(picture)) return std::nullopt;
    return to_frame(std::move(picture));
  }

  /// Whether the picture is one of the animation.
  bool draw(FramePtr& picture) {
    const std::int64_t pts = to_pts(picture->best_effort_timestamp);
    bool drawn = false;
    try {
      drawn = animation_->draw(picture, mark_of(*picture), memory_);
    } catch (const std::bad_alloc&) {
      require_memory(memory_.take_refusal());
      throw;
    }
    if (!drawn && options_.raise_on_error)
      throw DamagedPicture(
          fmt::format("decode: {}: not of the size that its frame has", context_->codec->name), pts);
    return drawn;
  }

  /// Of sending or receiving: with threads, decoding again tells what it was.
  void met(int status) {
    if (error_code(status) == ErrorCode::bad_data && has_threads() && history_.complete())
      FrameMemory::note_error(*context_);
    else
      report(status);
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
    frame.time_base = stream_.time_base;
    const std::int32_t* matrix = display_matrix(*from);
    const Display display = matrix ? display_of(matrix) : Display{stream_.mirror, stream_.rotation};
    frame.mirror = display.mirror;
    frame.rotation = display.rotation;
    frame.sample_aspect =
        from->sample_aspect_ratio.num > 0 ? to_rational(from->sample_aspect_ratio) : stream_.sample_aspect;
    frame.key = animation_ ? animation_->key() : is_key(*from);
    frame.corrupt = (from->flags & AV_FRAME_FLAG_CORRUPT) || from->decode_error_flags ||
                    (animation_ && animation_->corrupt());
    frame.interlaced = is_interlaced(*from);
    frame.top_field_first = frame.interlaced && is_top_field_first(*from);
    if (options_.sei) frame.sei = sei_waiting_.take(mark_of(*from));
    if (frame.corrupt && options_.raise_on_error)
      throw DamagedPicture(fmt::format("decode: {}", context_->codec->name), frame.pts);
    frame.image = to_image(std::move(from), options_.limits);
    if (frame.image.color.matrix == ColorMatrix::unspecified)
      frame.image.color.matrix = matrix_without_name(colors_.codes());
    return frame;
  }

  mutable SoleUse use_{"Decoder"};
  DecoderOptions options_;
  std::string reason_;
  FrameMemory memory_; ///< Before the context, which decodes into it.
  StreamInfo stream_;
  DecoderThreads threads_; ///< That the context has, where it was not told how many.
  CodecContextPtr context_;
  std::shared_ptr<ThreadPool> pool_;  ///< Kept over seeks, so that it need not be made anew.
  std::unique_ptr<CodecAhead> ahead_; ///< Where it has no threads; behind the context that it uses.
  FramePtr spare_;                    ///< Filled by the next receive().
  std::optional<PacketScanner> scanner_;
  ColorScanner colors_; ///< Up to the packet that was sent last.
  SeiScanner sei_scanner_;
  SeiQueue sei_waiting_; ///< By the place of their packets among those sent, from 1.
  std::int64_t packets_sent_ = 0;
  std::optional<WebpAnimation> animation_; ///< See Note [Animated WebP].
  std::string lost_;                       ///< Why a packet of it was not decoded.
  PacketHistory history_;                  ///< With threads.
  std::deque<PacketHistory::Entry> again_; ///< What one thread is still to decode again.
  std::int64_t leave_out_ = 0;             ///< Frames of it that were given before.
  bool single_ = false;                    ///< One thread has taken over.
  bool began_ = false;                     ///< The codec has state.
  bool draining_ = false, finished_ = false;
};

} // namespace

std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options,
                                        const std::string& reason) {
  return std::make_unique<FfmpegDecoder>(stream, options, reason);
}

} // namespace lanner::ffmpeg
