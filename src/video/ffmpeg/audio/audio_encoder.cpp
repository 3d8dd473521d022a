#include "video/audio/audio_encoder.h"

#include <algorithm>
#include <deque>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "video/ffmpeg/audio/audio_layout.h"
#include "video/ffmpeg/audio/resampler.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"

extern "C" {
#include <libavutil/audio_fifo.h>
#include <libavutil/samplefmt.h>
}

namespace lanner::ffmpeg {

namespace {

/// Of encoders that take blocks of any length.
constexpr int block_samples = 1024;
/// Taken at a time of long tensors.
constexpr std::int64_t samples_at_once = 1 << 16;

const AVCodec& find_audio_encoder(const std::string& name) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name == "pcm" ? "pcm_s16le" : name.c_str());
  // FFmpeg's own encoder of Opus has the codec's name, and is an experiment.
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str());
  if (descriptor && (!codec || codec->capabilities & AV_CODEC_CAP_EXPERIMENTAL))
    codec = avcodec_find_encoder(descriptor->id);
  check(codec != nullptr, ErrorCode::unsupported,
        "audio: there is no encoder '{}' in FFmpeg {}; aac, flac and pcm_s16le are in each, and `ffmpeg "
        "-encoders` lists all",
        name, av_version_info());
  check(codec->type == AVMEDIA_TYPE_AUDIO, ErrorCode::invalid_argument, "audio: '{}' is no codec of audio",
        name);
  return *codec;
}

/// The one that keeps most of a float.
AVSampleFormat best_sample_format(const AVCodec& codec) {
  constexpr AVSampleFormat order[] = {AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_FLT,  AV_SAMPLE_FMT_S32P,
                                      AV_SAMPLE_FMT_S32,  AV_SAMPLE_FMT_S16P, AV_SAMPLE_FMT_S16,
                                      AV_SAMPLE_FMT_DBLP, AV_SAMPLE_FMT_DBL,  AV_SAMPLE_FMT_U8};
  const AVSampleFormat* has = sample_formats(codec);
  if (!has) return AV_SAMPLE_FMT_FLTP;
  for (const AVSampleFormat format : order)
    for (const AVSampleFormat* one = has; *one != AV_SAMPLE_FMT_NONE; ++one)
      if (*one == format) return format;
  return *has;
}

/// The rate itself, else the next higher one, else the highest.
int best_sample_rate(const AVCodec& codec, int wanted) {
  const int* rates = sample_rates(codec);
  if (!rates) return wanted;
  int above = 0, highest = 0;
  for (; *rates != 0; ++rates) {
    highest = std::max(highest, *rates);
    if (*rates >= wanted && (above == 0 || *rates < above)) above = *rates;
  }
  return above ? above : highest;
}

void check_layout(const AVCodec& codec, const AVChannelLayout& layout) {
  const AVChannelLayout* known = channel_layouts(codec);
  if (!known) return;
  for (; known->nb_channels != 0; ++known)
    if (av_channel_layout_compare(known, &layout) == 0) return;
  fail(ErrorCode::unsupported, "audio: encoder {} has no layout of {} channels ({})", codec.name,
       layout.nb_channels, layout_text(layout));
}

struct FifoFree {
  void operator()(AVAudioFifo* fifo) const { av_audio_fifo_free(fifo); }
};

AVSampleFormat planar_format(DType dtype) {
  check(dtype == DType::f32 || dtype == DType::i16 || dtype == DType::i32, ErrorCode::invalid_argument,
        "audio: samples of {}, expected f32, i16 or i32", to_string(dtype));
  return dtype == DType::f32   ? AV_SAMPLE_FMT_FLTP
         : dtype == DType::i16 ? AV_SAMPLE_FMT_S16P
                               : AV_SAMPLE_FMT_S32P;
}

class FfmpegAudioEncoder final : public AudioEncoder {
public:
  FfmpegAudioEncoder(const AudioEncoderOptions& options, bool global_header)
      : in_rate_(options.sample_rate), layout_(ChannelLayout::usual(options.channels)) {
    open(find_audio_encoder(options.codec), options, global_header);
    describe(options);
    fifo_.reset(av_audio_fifo_alloc(context_->sample_fmt, layout_.channels(), block_samples));
    if (!fifo_) throw std::bad_alloc();
  }

  const StreamInfo& stream() const noexcept override { return stream_; }
  std::int32_t sample_rate() const noexcept override { return context_->sample_rate; }

  void take(const Tensor& samples) override {
    const AVSampleFormat format = planar_format(samples.dtype());
    if (!resampler_ || format != in_format_) {
      drain_resampler();
      in_format_ = format;
      resampler_.emplace(Resampler::Side{layout_.get(), format, in_rate_},
                         Resampler::Side{layout_.get(), context_->sample_fmt, context_->sample_rate});
    }
    const std::int64_t count = samples.shape()[1];
    const auto* data = static_cast<const std::uint8_t*>(samples.data());
    const std::size_t size = bit_width(samples.dtype()) / 8;
    std::vector<const std::uint8_t*> planes(static_cast<std::size_t>(layout_.channels()));
    for (std::int64_t at = 0; at < count; at += samples_at_once) {
      for (std::size_t channel = 0; channel < planes.size(); ++channel)
        planes[channel] =
            data + (channel * static_cast<std::size_t>(count) + static_cast<std::size_t>(at)) * size;
      store(planes.data(), static_cast<int>(std::min(samples_at_once, count - at)));
      encode(false);
    }
  }

  void finish() override {
    drain_resampler();
    encode(true);
    send(nullptr);
  }

  std::optional<Packet> receive() override {
    if (ready_.empty()) return std::nullopt;
    Packet packet = std::move(ready_.front());
    ready_.pop_front();
    return packet;
  }

private:
  void open(const AVCodec& codec, const AudioEncoderOptions& options, bool global_header) {
    check_layout(codec, layout_.get());
    const AVCodecDescriptor* descriptor = avcodec_descriptor_get(codec.id);
    const bool lossless = descriptor && descriptor->props & AV_CODEC_PROP_LOSSLESS &&
                          !(descriptor->props & AV_CODEC_PROP_LOSSY);
    check(!lossless || options.bit_rate == 0, ErrorCode::invalid_argument,
          "audio: encoder {} keeps every sample and takes the bits that this needs; leave out bit_rate",
          codec.name);
    context_.reset(avcodec_alloc_context3(&codec));
    if (!context_) throw std::bad_alloc();
    context_->sample_fmt = best_sample_format(codec);
    if (lossless && context_->sample_fmt == AV_SAMPLE_FMT_S32) context_->bits_per_raw_sample = 24;
    context_->sample_rate = best_sample_rate(codec, options.sample_rate);
    check(av_channel_layout_copy(&context_->ch_layout, &layout_.get()) >= 0, ErrorCode::out_of_memory,
          "audio: memory was refused by the system");
    context_->time_base = {1, context_->sample_rate};
    context_->thread_count = 1;
    if (options.bit_rate > 0) context_->bit_rate = options.bit_rate;
    if (global_header) context_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    clear_logged_error();
    const int status = avcodec_open2(context_.get(), &codec, nullptr);
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
          "audio: encoder {} refused {} channels at {} Hz with {} bits a second: {}", codec.name,
          options.channels, context_->sample_rate, options.bit_rate, error_text(status));
  }

  void describe(const AudioEncoderOptions& options) {
    const ParametersPtr parameters = make_parameters();
    check(avcodec_parameters_from_context(parameters.get(), context_.get()) >= 0, ErrorCode::out_of_memory,
          "audio: memory was refused by the system");
    stream_.kind = "audio";
    describe_codec(*parameters, stream_);
    stream_.time_base = to_rational(context_->time_base);
    stream_.sample_aspect = {0, 0};
    stream_.metadata = options.metadata;
  }

  void drain_resampler() {
    if (resampler_) store(nullptr, 0);
    resampler_.reset();
  }

  /// Converted, into the queue.
  void store(const std::uint8_t** planes, int count) {
    const int room = resampler_->most_out(count);
    if (room == 0) return;
    const FramePtr frame = new_frame(room);
    const int given = resampler_->convert(planes, count, frame->extended_data, room);
    check(av_audio_fifo_write(fifo_.get(), reinterpret_cast<void**>(frame->extended_data), given) >= given,
          ErrorCode::out_of_memory, "audio: memory was refused by the system");
  }

  FramePtr new_frame(int samples) const {
    FramePtr frame = make_frame();
    frame->nb_samples = samples;
    frame->format = context_->sample_fmt;
    frame->sample_rate = context_->sample_rate;
    check(av_channel_layout_copy(&frame->ch_layout, &layout_.get()) >= 0 &&
              av_frame_get_buffer(frame.get(), 0) >= 0,
          ErrorCode::out_of_memory, "audio: memory was refused by the system");
    return frame;
  }

  /// What is queued, in blocks of the encoder's length; the last one may be shorter.
  void encode(bool all) {
    const int length = context_->frame_size > 0 ? context_->frame_size : block_samples;
    while (av_audio_fifo_size(fifo_.get()) >= (all ? 1 : length)) {
      const FramePtr frame = new_frame(std::min(length, av_audio_fifo_size(fifo_.get())));
      const int given =
          av_audio_fifo_read(fifo_.get(), reinterpret_cast<void**>(frame->extended_data), frame->nb_samples);
      check(given == frame->nb_samples, ErrorCode::internal, "audio: {} of {} samples were queued", given,
            frame->nb_samples);
      frame->pts = sent_;
      sent_ += given;
      send(frame.get());
    }
  }

  void send(const AVFrame* frame) {
    clear_logged_error();
    int status = avcodec_send_frame(context_.get(), frame);
    while (status >= 0) {
      PacketPtr packet = make_packet();
      status = avcodec_receive_packet(context_.get(), packet.get());
      if (status >= 0) ready_.push_back(to_packet(std::move(packet)));
    }
    check(status == AVERROR(EAGAIN) || status == AVERROR_EOF, ErrorCode::invalid_argument,
          "audio: encoder {}: {}", context_->codec->name, error_text(status));
  }

  int in_rate_;
  ChannelLayout layout_;
  CodecContextPtr context_;
  StreamInfo stream_;
  std::optional<Resampler> resampler_;
  AVSampleFormat in_format_ = AV_SAMPLE_FMT_NONE;
  std::unique_ptr<AVAudioFifo, FifoFree> fifo_;
  std::int64_t sent_ = 0; ///< Samples.
  std::deque<Packet> ready_;
};

} // namespace

std::unique_ptr<AudioEncoder> create_audio_encoder(const AudioEncoderOptions& options, bool global_header) {
  return std::make_unique<FfmpegAudioEncoder>(options, global_header);
}

} // namespace lanner::ffmpeg
