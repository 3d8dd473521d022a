#include "video/ffmpeg_module.h"

#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"

extern "C" const void* lanner_ffmpeg_module() {
  using namespace lanner;
  ffmpeg::route_log();
  static const FfmpegModule table{
      .abi_version = ffmpeg_module_version,
      .open_demuxer = ffmpeg::open_demuxer,
      .create_decoder = ffmpeg::create_decoder,
      .create_encoder = ffmpeg::create_encoder,
      .create_muxer = ffmpeg::create_muxer,
      .create_stream_muxer = ffmpeg::create_stream_muxer,
      .load_image = ffmpeg::load_image,
      .decode_image = ffmpeg::decode_image,
      .save_image = ffmpeg::save_image,
      .encode_image = ffmpeg::encode_image,
      .video_support = ffmpeg::video_support,
      .stream_facts = ffmpeg::stream_facts,
      .resized_image = ffmpeg::resized_image,
      .create_deinterlacer = ffmpeg::create_deinterlacer,
      .audio_format = ffmpeg::audio_format,
      .best_audio = ffmpeg::best_audio,
      .create_audio_decoder = ffmpeg::create_audio_decoder,
      .create_audio_converter = ffmpeg::create_audio_converter,
      .create_audio_encoder = ffmpeg::create_audio_encoder,
  };
  return &table;
}
