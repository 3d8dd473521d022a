#pragma once
// Which FFmpeg encoder stands behind a codec's name, and how Lanner's options are spelled for it.

#include <lanner/encoder.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// The encoder of `options.codec`, an FFmpeg encoder's name, or, for a codec's name, the best that this
/// FFmpeg has for pictures of that size and format. Throws Error{unsupported, invalid_argument}.
const AVCodec* find_encoder(const EncoderOptions& options);
/// Whether `to` holds each sample of `from` as it is, perhaps elsewhere.
bool keeps_samples(PixelFormat from, PixelFormat to);
/// The encoder's pixel format for `options`; the nearest to `options.format` where that is not taken, which
/// tuning lossless refuses.
AVPixelFormat encoder_format(const AVCodec& codec, const EncoderOptions& options);
/// All options in the encoder's own names, less what `options.codec_options` sets. `stored` is the format
/// that encoder_format() chose.
void fill_settings(const AVCodec& codec, const EncoderOptions& options, PixelFormat stored,
                   AVCodecContext& context, Dictionary& settings);

} // namespace lanner::ffmpeg
