#include "video/ffmpeg_module.h"

#include "base/check.h"
#include "base/file/module.h"
#include "video/write/resized.h"

namespace lanner {

namespace {

const ModuleResult& opened() {
  return load_module("ffmpeg", ffmpeg_module_version);
}

} // namespace

const FfmpegModule& ffmpeg_module() {
  const ModuleResult& result = opened();
  check(result.table != nullptr, ErrorCode::unsupported,
        "video and pictures need liblanner-ffmpeg.so and FFmpeg's libraries: {}; on Debian: apt-get install "
        "libavformat-dev libavcodec-dev libswscale-dev libswresample-dev, and build again",
        result.reason);
  return *static_cast<const FfmpegModule*>(result.table);
}

std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options) {
  return ffmpeg_module().open_demuxer(std::move(source), options);
}

std::unique_ptr<Muxer> create_muxer(const std::string& path, const MuxerOptions& options) {
  return ffmpeg_module().create_muxer(path, options);
}

std::unique_ptr<Muxer> create_muxer(const std::string& path, const std::string& format) {
  return create_muxer(path, MuxerOptions{.format = format, .fragmented = false, .metadata = {}, .plays = {}});
}

std::unique_ptr<Muxer> create_muxer(WriteCallback write, const std::string& format, const std::string& name) {
  check(static_cast<bool>(write), ErrorCode::invalid_argument, "{}: no function to write with", name);
  return ffmpeg_module().create_stream_muxer(std::move(write), format, name);
}

Image load_image(const std::string& path, const Limits& limits) {
  return ffmpeg_module().load_image(path, limits);
}

Image decode_image(std::span<const std::byte> bytes, const Limits& limits, const std::string& name) {
  return ffmpeg_module().decode_image(bytes, limits, name);
}

void save_image(const std::string& path, const Image& image) {
  ffmpeg_module().save_image(path, image);
}

std::vector<std::byte> encode_image(const Image& image, std::string_view kind) {
  return ffmpeg_module().encode_image(image, kind);
}

StreamFacts stream_facts(const Demuxer& demuxer, int stream) {
  return ffmpeg_module().stream_facts(demuxer, stream);
}

HdrMetadata hdr_metadata(const Demuxer& demuxer, int stream) {
  return stream_facts(demuxer, stream).hdr;
}

Image resized_image(const Image& image, std::int32_t width, std::int32_t height) {
  return ffmpeg_module().resized_image(image, width, height);
}

std::unique_ptr<Deinterlacer> create_deinterlacer() {
  return ffmpeg_module().create_deinterlacer();
}

AudioFormat audio_format(const Demuxer& demuxer, int stream) {
  return ffmpeg_module().audio_format(demuxer, stream);
}

int best_audio(const Demuxer& demuxer) {
  return ffmpeg_module().best_audio(demuxer);
}

std::unique_ptr<AudioDecoder> create_audio_decoder(const StreamInfo& stream, const Limits& limits) {
  return ffmpeg_module().create_audio_decoder(stream, limits);
}

std::unique_ptr<AudioConverter> create_audio_converter(const AudioBlock& like, const AudioTarget& target) {
  return ffmpeg_module().create_audio_converter(like, target);
}

std::unique_ptr<AudioEncoder> create_audio_encoder(const AudioEncoderOptions& options, bool global_header) {
  return ffmpeg_module().create_audio_encoder(options, global_header);
}

VideoSupport video_support() {
  const ModuleResult& result = opened();
  VideoSupport support;
  if (result.table) support = static_cast<const FfmpegModule*>(result.table)->video_support();
  support.available = result.table != nullptr;
  support.path = result.path;
  support.reason = result.reason;
  return support;
}

} // namespace lanner
