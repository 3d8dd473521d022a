#include <cstring>
#include <optional>
#include <vector>

#include "base/check.h"
#include "video/ffmpeg/audio/audio_layout.h"
#include "video/ffmpeg/audio/resampler.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

namespace lanner::ffmpeg {

namespace {

const AVFrame& frame_of(const AudioBlock& block) {
  return *static_cast<const AVFrame*>(block.owner.get());
}

AVSampleFormat planar_format(DType dtype) {
  return dtype == DType::i16   ? AV_SAMPLE_FMT_S16P
         : dtype == DType::i32 ? AV_SAMPLE_FMT_S32P
                               : AV_SAMPLE_FMT_FLTP;
}

/// Channels whose places are not known have the usual ones.
ChannelLayout layout_of(const AVFrame& frame) {
  return frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC ? ChannelLayout::usual(frame.ch_layout.nb_channels)
                                                          : ChannelLayout(frame.ch_layout);
}

/// Pointers to the samples of a frame from `first` on.
std::vector<const std::uint8_t*> planes_of(const AVFrame& frame, std::int64_t first) {
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const int channels = frame.ch_layout.nb_channels;
  const bool planar = av_sample_fmt_is_planar(format);
  const auto step = static_cast<std::size_t>(av_get_bytes_per_sample(format)) *
                    static_cast<std::size_t>(planar ? 1 : channels);
  std::vector<const std::uint8_t*> planes;
  for (int plane = 0; plane < (planar ? channels : 1); ++plane)
    planes.push_back(frame.extended_data[plane] + static_cast<std::size_t>(first) * step);
  return planes;
}

class FfmpegAudioConverter final : public AudioConverter {
public:
  FfmpegAudioConverter(const AudioBlock& like, const AudioTarget& target)
      : dtype_(target.dtype), format_(like.format),
        in_format_(static_cast<AVSampleFormat>(frame_of(like).format)), in_(layout_of(frame_of(like))) {
    const bool mixes = target.channels > 0 && target.channels != in_.channels();
    const ChannelLayout out = mixes ? ChannelLayout::usual(target.channels) : ChannelLayout(in_.get());
    out_channels_ = out.channels();
    const int rate = target.sample_rate > 0 ? target.sample_rate : like.format.sample_rate;
    resampler_.emplace(Resampler::Side{in_.get(), in_format_, like.format.sample_rate},
                       Resampler::Side{out.get(), planar_format(dtype_), rate});
  }

  Tensor convert(const AudioBlock& block, std::int64_t first, std::int64_t count) override {
    if (block.format != format_) return convert_other(block, first, static_cast<int>(count));
    std::vector<const std::uint8_t*> planes = planes_of(frame_of(block), first);
    return converted(planes.data(), static_cast<int>(count));
  }

  Tensor finish() override { return converted(nullptr, 0); }

private:
  /// Of another sample format, or other channels.
  Tensor convert_other(const AudioBlock& block, std::int64_t first, int count) {
    const AVFrame& frame = frame_of(block);
    const ChannelLayout layout = layout_of(frame);
    Resampler adapter({layout.get(), static_cast<AVSampleFormat>(frame.format), frame.sample_rate},
                      {in_.get(), in_format_, frame.sample_rate});
    FramePtr adapted = make_frame();
    adapted->nb_samples = count;
    adapted->format = in_format_;
    check(av_channel_layout_copy(&adapted->ch_layout, &in_.get()) >= 0 &&
              av_frame_get_buffer(adapted.get(), 0) >= 0,
          ErrorCode::out_of_memory, "audio: memory was refused by the system");
    adapter.convert(planes_of(frame, first).data(), count, adapted->extended_data, count);
    return converted(planes_of(*adapted, 0).data(), count);
  }

  Tensor converted(const std::uint8_t** planes, int count) {
    const int room = resampler_->most_out(count);
    Tensor whole = Tensor::allocate(dtype_, {out_channels_, room});
    std::vector<std::uint8_t*> rows;
    const std::size_t size = bit_width(dtype_) / 8;
    for (int channel = 0; channel < out_channels_; ++channel)
      rows.push_back(static_cast<std::uint8_t*>(whole.data()) +
                     static_cast<std::size_t>(channel) * static_cast<std::size_t>(room) * size);
    const int given = resampler_->convert(planes, count, rows.data(), room);
    if (given == room) return whole;
    Tensor exact = Tensor::allocate(dtype_, {out_channels_, given});
    for (int channel = 0; channel < out_channels_; ++channel)
      std::memcpy(static_cast<std::uint8_t*>(exact.data()) +
                      static_cast<std::size_t>(channel) * static_cast<std::size_t>(given) * size,
                  rows[static_cast<std::size_t>(channel)], static_cast<std::size_t>(given) * size);
    return exact;
  }

  DType dtype_;
  AudioFormat format_; ///< Of the first block.
  AVSampleFormat in_format_;
  ChannelLayout in_;
  int out_channels_ = 0;
  std::optional<Resampler> resampler_;
};

} // namespace

std::unique_ptr<AudioConverter> create_audio_converter(const AudioBlock& like, const AudioTarget& target) {
  return std::make_unique<FfmpegAudioConverter>(like, target);
}

} // namespace lanner::ffmpeg
