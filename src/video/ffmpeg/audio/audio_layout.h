#pragma once
// Formats of audio in FFmpeg's terms.

#include <string>

#include <lanner/audio_reader.h>

#include "video/ffmpeg/av.h"

extern "C" {
#include <libavutil/channel_layout.h>
}

namespace lanner::ffmpeg {

/// An AVChannelLayout that is freed.
class ChannelLayout {
public:
  ChannelLayout() = default;
  explicit ChannelLayout(const AVChannelLayout& from);
  /// The usual one of so many channels.
  static ChannelLayout usual(int channels);
  ~ChannelLayout() { av_channel_layout_uninit(&layout_); }
  ChannelLayout(ChannelLayout&& other) noexcept : layout_(other.layout_) { other.layout_ = {}; }
  ChannelLayout(const ChannelLayout&) = delete;
  ChannelLayout& operator=(const ChannelLayout&) = delete;

  const AVChannelLayout& get() const noexcept { return layout_; }
  int channels() const noexcept { return layout_.nb_channels; }

private:
  AVChannelLayout layout_{};
};

/// `stereo`, `5.1(side)`; `6 channels` where their order is not known.
std::string layout_text(const AVChannelLayout& layout);
AudioFormat format_of(const AVFrame& frame);
AudioFormat format_of(const AVCodecParameters& parameters);

} // namespace lanner::ffmpeg
