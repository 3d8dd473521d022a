#pragma once
// Which FFmpeg encoder stands behind a codec's name, and how Lanner's options are spelled for it.

#include <lanner/encoder.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// The encoder of an FFmpeg encoder's name or, for a codec's name, the best that this FFmpeg has for pictures
/// of that size. Throws Error{unsupported, invalid_argument}.
const AVCodec* find_encoder(const std::string& name, std::int32_t width, std::int32_t height);
/// The encoder's pixel format for `options`; the nearest to `options.format` where that is not taken.
AVPixelFormat encoder_format(const AVCodec& codec, const EncoderOptions& options);
/// Preset, quality and quietness in the encoder's own option names, less what `options.codec_options` sets.
void fill_settings(const AVCodec& codec, const EncoderOptions& options, Dictionary& settings);

} // namespace lanner::ffmpeg
