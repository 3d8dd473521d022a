#pragma once
// How a clip is encoded again, by what it is.

#include <lanner/transcode.h>

namespace lanner {

/// What is known of the clip before the first picture is encoded.
struct ClipFacts {
  StreamInfo stream; ///< As its pictures are written.
  VideoFields fields = VideoFields::progressive;
  HdrMetadata hdr;
  bool yuv = true;
};

/// `options.encoder` with all that the clip says: codec (by the container), rate, format, shape of pixels,
/// brightness, fields. Colours are those of the first picture.
EncoderOptions encoder_for_clip(const TranscodeOptions& options, std::string_view format,
                                const ClipFacts& clip);
/// Whether the encoder writes the order of fields into the video stream.
bool marks_fields(const EncoderOptions& encoder, VideoFields fields);

} // namespace lanner
