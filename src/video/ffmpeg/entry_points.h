#pragma once
// What the module's files give to its function table. Each follows the public function of its name.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

namespace lanner::ffmpeg {

std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options);
std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options,
                                        const std::string& reason);
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);
std::unique_ptr<Muxer> create_muxer(const std::string& path, const MuxerOptions& options);
std::unique_ptr<Muxer> create_stream_muxer(WriteCallback write, const std::string& format,
                                           const std::string& name);
Image load_image(const std::string& path, const Limits& limits);
Image decode_image(std::span<const std::byte> bytes, const Limits& limits, const std::string& name);
void save_image(const std::string& path, const Image& image);
std::vector<std::byte> encode_image(const Image& image, std::string_view kind);
VideoSupport video_support();
StreamFacts stream_facts(const Demuxer& demuxer, int stream);
Image resized_image(const Image& image, std::int32_t width, std::int32_t height);
std::unique_ptr<Deinterlacer> create_deinterlacer();
AudioFormat audio_format(const Demuxer& demuxer, int stream);
int best_audio(const Demuxer& demuxer);
std::unique_ptr<AudioDecoder> create_audio_decoder(const StreamInfo& stream, const Limits& limits);
std::unique_ptr<AudioConverter> create_audio_converter(const AudioBlock& like, const AudioTarget& target);
std::unique_ptr<AudioEncoder> create_audio_encoder(const AudioEncoderOptions& options, bool global_header);

} // namespace lanner::ffmpeg
