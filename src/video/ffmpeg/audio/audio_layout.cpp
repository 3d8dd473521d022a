#include "video/ffmpeg/audio/audio_layout.h"

#include <new>

#include "base/check.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/write/av_demuxer.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

namespace lanner::ffmpeg {

namespace {

std::string sample_format_text(int format) {
  const char* name = av_get_sample_fmt_name(static_cast<AVSampleFormat>(format));
  return name ? name : "";
}

} // namespace

ChannelLayout::ChannelLayout(const AVChannelLayout& from) {
  if (av_channel_layout_copy(&layout_, &from) < 0) throw std::bad_alloc();
}

ChannelLayout ChannelLayout::usual(int channels) {
  ChannelLayout result;
  av_channel_layout_default(&result.layout_, channels);
  return result;
}

std::string layout_text(const AVChannelLayout& layout) {
  char text[128] = {};
  return av_channel_layout_describe(&layout, text, sizeof text) < 0 ? std::string() : clean_text(text);
}

AudioFormat format_of(const AVFrame& frame) {
  return {.sample_rate = frame.sample_rate,
          .channels = frame.ch_layout.nb_channels,
          .channel_layout = layout_text(frame.ch_layout),
          .sample_format = sample_format_text(frame.format)};
}

AudioFormat format_of(const AVCodecParameters& parameters) {
  const bool told = parameters.ch_layout.nb_channels > 0;
  return {.sample_rate = parameters.sample_rate,
          .channels = parameters.ch_layout.nb_channels,
          .channel_layout = told ? layout_text(parameters.ch_layout) : "",
          .sample_format = sample_format_text(parameters.format)};
}

AudioFormat audio_format(const Demuxer& demuxer, int stream) {
  const AVCodecParameters& parameters = *av_stream_of(demuxer, stream).codecpar;
  check(parameters.codec_type == AVMEDIA_TYPE_AUDIO, ErrorCode::invalid_argument, "stream {} is not audio",
        stream);
  return format_of(parameters);
}

int best_audio(const Demuxer& demuxer) {
  auto& context = const_cast<AVFormatContext&>(av_context_of(demuxer));
  const int best = av_find_best_stream(&context, AVMEDIA_TYPE_AUDIO, -1, demuxer.best_video(), nullptr, 0);
  return best < 0 ? -1 : best;
}

} // namespace lanner::ffmpeg
