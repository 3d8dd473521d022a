#pragma once
// What differs between FFmpeg 5.1 (Debian 12) and 7.1 (Debian 13) is here and in library.cpp, and nowhere
// else.

#include <cstddef>
#include <cstdint>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace lanner::ffmpeg {

bool is_key(const AVFrame& frame);
bool is_interlaced(const AVFrame& frame);
bool is_top_field_first(const AVFrame& frame);
/// Says whether a frame holds two fields, and which comes first.
void mark_fields(AVFrame& frame, bool interlaced, bool top_field_first);
/// In the stream's time base, 0 when it is not known.
std::int64_t duration_of(const AVFrame& frame);

/// A number that the decoder carries from a packet to the frame that begins in it, through any reordering.
/// Ask for it before the codec is opened.
void carry_marks(AVCodecContext& context);
/// Sends `packet` with `mark`, which is positive; avcodec_send_packet().
int send_marked(AVCodecContext& context, AVPacket& packet, std::int64_t mark);
/// 0 when the frame has none.
std::int64_t mark_of(const AVFrame& frame);

/// The matrix of libavutil/display.h that the stream carries, else null. It lives as long as the stream.
const std::int32_t* display_matrix(const AVStream& stream);

/// Side data of a stream, null where there is none of the type. It lives as long as the stream.
const std::uint8_t* stream_side_data(const AVStream& stream, AVPacketSideDataType type, std::size_t& size);
/// Adds a copy of `size` bytes. Throws std::bad_alloc.
void add_stream_side_data(AVStream& stream, AVPacketSideDataType type, const void* data, std::size_t size);
/// All side data of a stream whose codec parameters were copied already. Throws std::bad_alloc.
void copy_stream_side_data(const AVStream& from, AVStream& to);

/// av_probe_input_buffer2 by the content alone, whatever the source is called.
int probe_format(AVIOContext* io, const AVInputFormat** format);

/// Codec threads may call the context's get_buffer2 themselves, which is ready for it.
void call_from_any_thread(AVCodecContext& context);

/// Pixel formats that came with FFmpeg 6; AV_PIX_FMT_NONE before.
#if LIBAVUTIL_VERSION_MAJOR >= 59
inline constexpr AVPixelFormat pixel_format_p012 = AV_PIX_FMT_P012LE, pixel_format_p212 = AV_PIX_FMT_P212LE;
#else
inline constexpr AVPixelFormat pixel_format_p012 = AV_PIX_FMT_NONE, pixel_format_p212 = AV_PIX_FMT_NONE;
#endif

/// Whether the decoder of HEVC puts the alpha of an auxiliary layer into its pictures, as FFmpeg 8's does.
inline constexpr bool decodes_alpha_layers = LIBAVCODEC_VERSION_MAJOR >= 62;

/// What the encoder takes, ended by AV_PIX_FMT_NONE; null when it does not say.
const AVPixelFormat* pixel_formats(const AVCodec& encoder);
/// The same of audio: sample formats, ended by AV_SAMPLE_FMT_NONE, rates, ended by 0, and layouts, ended by
/// one without channels.
const AVSampleFormat* sample_formats(const AVCodec& encoder);
const int* sample_rates(const AVCodec& encoder);
const AVChannelLayout* channel_layouts(const AVCodec& encoder);

/// What a write callback of AVIO gets.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WriteBytes = const std::uint8_t*;
#else
using WriteBytes = std::uint8_t*;
#endif

} // namespace lanner::ffmpeg
