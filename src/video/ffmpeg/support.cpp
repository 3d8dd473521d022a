#include <algorithm>

#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"

namespace lanner::ffmpeg {

namespace {

void sort_unique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

} // namespace

VideoSupport video_support() {
  VideoSupport support;
  support.version = av_version_info();
  void* state = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&state)) {
    if (codec->type != AVMEDIA_TYPE_VIDEO) continue;
    (av_codec_is_encoder(codec) ? support.encoders : support.decoders).push_back(codec->name);
  }
  state = nullptr;
  while (const AVInputFormat* format = av_demuxer_iterate(&state)) support.demuxers.push_back(format->name);
  state = nullptr;
  while (const AVOutputFormat* format = av_muxer_iterate(&state)) support.muxers.push_back(format->name);
  for (auto* names : {&support.decoders, &support.encoders, &support.demuxers, &support.muxers})
    sort_unique(*names);
  return support;
}

} // namespace lanner::ffmpeg
