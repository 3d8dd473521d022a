#pragma once
// Profiles and levels that pictures have to fit.

#include <cstdint>
#include <string>
#include <string_view>

#include <lanner/encoder.h>

namespace lanner {

/// What is encoded, as levels and profiles bound it.
struct CodedPictures {
  std::string_view encoder; ///< What messages call it.
  PixelFormat format;       ///< As the encoder stores it.
  bool lossless;
};

/// Throws Error{invalid_argument} for a level that is none of the codec (h264, hevc or av1), and for
/// pictures, a rate or references beyond it (H.264 Table A-1, H.265 Tables A.8 and A.9, AV1 A.3). Returns its
/// number as FFmpeg has it: 41 of 4.1, 9 of H.264's 1b; of HEVC 30 times the level.
int checked_level(std::string_view codec, const CodedPictures& pictures, const EncoderOptions& options);

/// Throws Error{invalid_argument} for a profile that is none of the codec's (h264 or hevc) or that cannot
/// hold the format (H.264 A.2, H.265 A.3).
void check_profile(std::string_view codec, const CodedPictures& pictures, const EncoderOptions& options);

} // namespace lanner
