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

class FfmpegAudioConverter final : public AudioConverter {
public:
  FfmpegAudioConverter(const AudioBlock& like, const AudioTarget& target) : dtype_(target.dtype) {
    const AVFrame& frame = frame_of(like);
    in_format_ = static_cast<AVSampleFormat>(frame.format);
    in_channels_ = frame.ch_layout.nb_channels;
    // Channels whose places are not known have the usual ones.
    const ChannelLayout in = frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC
                                 ? ChannelLayout::usual(in_channels_)
                                 : ChannelLayout(frame.ch_layout);
    const bool mixes = target.channels > 0 && target.channels != in_channels_;
    const ChannelLayout out = mixes ? ChannelLayout::usual(target.channels) : ChannelLayout(in.get());
    out_channels_ = out.channels();
    const int rate = target.sample_rate > 0 ? target.sample_rate : frame.sample_rate;
    resampler_.emplace(Resampler::Side{in.get(), in_format_, frame.sample_rate},
                       Resampler::Side{out.get(), planar_format(dtype_), rate});
  }

  Tensor convert(const AudioBlock& block, std::int64_t first, std::int64_t count) override {
    const AVFrame& frame = frame_of(block);
    const bool planar = av_sample_fmt_is_planar(in_format_);
    const auto step = static_cast<std::size_t>(av_get_bytes_per_sample(in_format_)) *
                      static_cast<std::size_t>(planar ? 1 : in_channels_);
    std::vector<const std::uint8_t*> planes;
    for (int plane = 0; plane < (planar ? in_channels_ : 1); ++plane)
      planes.push_back(frame.extended_data[plane] + static_cast<std::size_t>(first) * step);
    return converted(planes.data(), static_cast<int>(count));
  }

  Tensor finish() override { return converted(nullptr, 0); }

private:
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
  AVSampleFormat in_format_;
  int in_channels_ = 0, out_channels_ = 0;
  std::optional<Resampler> resampler_;
};

} // namespace

std::unique_ptr<AudioConverter> create_audio_converter(const AudioBlock& like, const AudioTarget& target) {
  return std::make_unique<FfmpegAudioConverter>(like, target);
}

} // namespace lanner::ffmpeg
