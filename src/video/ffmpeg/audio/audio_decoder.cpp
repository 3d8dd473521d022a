#include "video/audio/audio_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "video/ffmpeg/audio/audio_layout.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"

extern "C" {
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>
#include <libavutil/samplefmt.h>
}

namespace lanner::ffmpeg {

namespace {

/// Of the side data that asks to leave out samples: their numbers at the beginning and at the end, and why.
constexpr std::size_t skip_bytes = 10;

CodecContextPtr open_audio(const StreamInfo& stream, const Limits& limits) {
  const ParametersPtr parameters = to_parameters(stream);
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  check(codec != nullptr, ErrorCode::unsupported, "stream {}: there is no decoder for '{}' in FFmpeg {}",
        stream.index, stream.codec, av_version_info());
  check(codec->type == AVMEDIA_TYPE_AUDIO, ErrorCode::invalid_argument, "stream {} is {}, not audio",
        stream.index, stream.kind);
  CodecContextPtr context = make_codec_context(*codec, *parameters, stream);
  context->thread_count = 1; // Blocks are too small to share.
  const auto channels = static_cast<std::uint64_t>(std::max(2, parameters->ch_layout.nb_channels));
  constexpr std::uint64_t widest = 8; // Bytes of a sample.
  context->max_samples = static_cast<std::int64_t>(
      std::clamp<std::uint64_t>(limits.total_bytes / (channels * widest), 1, INT32_MAX));
  carry_marks(*context);
  clear_logged_error();
  const int status = avcodec_open2(context.get(), codec, nullptr);
  check(status >= 0, error_code(status), "stream {}: cannot open decoder {}: {}", stream.index, codec->name,
        error_text(status));
  return context;
}

struct HashFree {
  void operator()(AVMurMur3* hash) const { av_free(hash); }
};

/// Of all samples of a frame.
std::uint64_t digest_of(const AVFrame& frame, AVMurMur3& hash) {
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const int channels = frame.ch_layout.nb_channels;
  const bool planar = av_sample_fmt_is_planar(format);
  const auto bytes = static_cast<std::size_t>(frame.nb_samples) *
                     static_cast<std::size_t>(av_get_bytes_per_sample(format)) *
                     static_cast<std::size_t>(planar ? 1 : channels);
  av_murmur3_init(&hash);
  for (int plane = 0; plane < (planar ? channels : 1); ++plane)
    av_murmur3_update(&hash, frame.extended_data[plane], bytes);
  std::uint8_t result[16];
  av_murmur3_final(&hash, result);
  std::uint64_t digest = 0;
  std::memcpy(&digest, result, sizeof digest);
  return digest;
}

class FfmpegAudioDecoder final : public AudioDecoder {
public:
  FfmpegAudioDecoder(const StreamInfo& stream, const Limits& limits)
      : limits_(limits), context_(open_audio(stream, limits)), hash_(av_murmur3_alloc()) {
    if (!hash_) throw std::bad_alloc();
  }

  bool send(const Packet* packet, std::int64_t number, bool keep_start) override {
    clear_logged_error();
    int status = 0;
    if (packet) {
      const PacketPtr input = to_av(*packet);
      if (!keep_start) drop_start(*input);
      status = send_marked(*context_, *input, number);
    } else {
      status = avcodec_send_packet(context_.get(), nullptr);
      if (status == AVERROR_EOF) status = 0; // It has it.
    }
    if (status == AVERROR(EAGAIN)) return false;
    if (status < 0) met(status);
    return true;
  }

  std::optional<AudioBlock> receive() override {
    FramePtr frame = make_frame();
    while (!finished_) {
      clear_logged_error();
      const int status = avcodec_receive_frame(context_.get(), frame.get());
      if (status == AVERROR(EAGAIN)) return std::nullopt;
      if (status == AVERROR_EOF) {
        finished_ = true;
      } else if (status < 0) {
        met(status);
      } else {
        return to_block(std::move(frame));
      }
    }
    return std::nullopt;
  }

  bool finished() const noexcept override { return finished_; }
  std::string take_damage() override { return std::exchange(damage_, {}); }

private:
  static void drop_start(AVPacket& packet) {
    std::size_t size = 0;
    std::uint8_t* side = av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
    if (side && size >= skip_bytes) AV_WL32(side, 0);
  }

  void met(int status) {
    const std::string text = error_text(status);
    if (text.find("max_samples") != text.npos)
      fail_limit("total_bytes", limits_.total_bytes, "decode: {}: {}", context_->codec->name, text);
    check(status != AVERROR(ENOMEM), ErrorCode::out_of_memory, "decode: {}: {}", context_->codec->name, text);
    if (damage_.empty()) damage_ = fmt::format("decode: {}: {}", context_->codec->name, text);
  }

  AudioBlock to_block(FramePtr frame) {
    AudioBlock block;
    block.packet = mark_of(*frame);
    block.pts =
        to_pts(frame->best_effort_timestamp != AV_NOPTS_VALUE ? frame->best_effort_timestamp : frame->pts);
    block.samples = frame->nb_samples;
    block.format = format_of(*frame);
    check(block.format.sample_rate > 0 && block.format.channels > 0, ErrorCode::bad_data,
          "decode: {}: a block of {} channels at {} Hz", context_->codec->name, block.format.channels,
          block.format.sample_rate);
    block.digest = digest_of(*frame, *hash_);
    block.owner = std::shared_ptr<const AVFrame>(
        frame.release(), [](const AVFrame* held) { FrameFree()(const_cast<AVFrame*>(held)); });
    return block;
  }

  Limits limits_;
  CodecContextPtr context_;
  std::unique_ptr<AVMurMur3, HashFree> hash_;
  std::string damage_; ///< The first since it was taken.
  bool finished_ = false;
};

} // namespace

std::unique_ptr<AudioDecoder> create_audio_decoder(const StreamInfo& stream, const Limits& limits) {
  return std::make_unique<FfmpegAudioDecoder>(stream, limits);
}

} // namespace lanner::ffmpeg
