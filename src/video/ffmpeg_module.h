#pragma once
// The table of functions that liblanner-ffmpeg.so gives to liblanner.so.

#include <cstdint>
#include <memory>
#include <string>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/encoder.h>
#include <lanner/image.h>
#include <lanner/muxer.h>
#include <lanner/video_support.h>

#include "video/audio/audio_decoder.h"
#include "video/audio/audio_encoder.h"
#include "video/write/deinterlacer.h"
#include "video/write/stream_facts.h"

namespace lanner {

/// Raised whenever FfmpegModule or a type that crosses it changes.
inline constexpr std::uint32_t ffmpeg_module_version = 9;

/// Entry points of the FFmpeg module. Each follows the rules of the public function of its name.
struct FfmpegModule {
  std::uint32_t abi_version;
  std::unique_ptr<Demuxer> (*open_demuxer)(SourcePtr source, const DemuxerOptions& options);
  /// `reason` is what Decoder::reason() says.
  std::unique_ptr<Decoder> (*create_decoder)(const StreamInfo& stream, const DecoderOptions& options,
                                             const std::string& reason);
  std::unique_ptr<Encoder> (*create_encoder)(const EncoderOptions& options);
  std::unique_ptr<Muxer> (*create_muxer)(const std::string& path, const MuxerOptions& options);
  /// Of containers that are written from the first byte to the last.
  std::unique_ptr<Muxer> (*create_stream_muxer)(WriteCallback write, const std::string& format,
                                                const std::string& name);
  Image (*load_image)(const std::string& path, const Limits& limits);
  Image (*decode_image)(std::span<const std::byte> bytes, const Limits& limits, const std::string& name);
  void (*save_image)(const std::string& path, const Image& image);
  std::vector<std::byte> (*encode_image)(const Image& image, std::string_view kind);
  VideoSupport (*video_support)();
  StreamFacts (*stream_facts)(const Demuxer& demuxer, int stream);
  /// The picture in another size, in its own format; see video/write/resized.h.
  Image (*resized_image)(const Image& image, std::int32_t width, std::int32_t height);
  /// See video/write/deinterlacer.h.
  std::unique_ptr<Deinterlacer> (*create_deinterlacer)();
  AudioFormat (*audio_format)(const Demuxer& demuxer, int stream);
  int (*best_audio)(const Demuxer& demuxer);
  /// See video/audio/audio_decoder.h.
  std::unique_ptr<AudioDecoder> (*create_audio_decoder)(const StreamInfo& stream, const Limits& limits);
  std::unique_ptr<AudioConverter> (*create_audio_converter)(const AudioBlock& like,
                                                            const AudioTarget& target);
  /// See video/audio/audio_encoder.h.
  std::unique_ptr<AudioEncoder> (*create_audio_encoder)(const AudioEncoderOptions& options,
                                                        bool global_header);
};

/// The opened module; opens it at first use. Throws Error{unsupported} that says why it is missing and what
/// to install. Safe from any thread.
const FfmpegModule& ffmpeg_module();

} // namespace lanner

/// What the module exports: a lanner::FfmpegModule.
extern "C" const void* lanner_ffmpeg_module();
