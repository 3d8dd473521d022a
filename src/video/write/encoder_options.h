#pragma once
// What every encoder asks of its options. In a header: the library and the module of FFmpeg both use it.

#include <cmath>

#include <lanner/encoder.h>

#include "base/check.h"

namespace lanner {

/// Throws Error{invalid_argument} for numbers that make no sense, and for options that exclude one another.
/// `with_size`: the size is known; else 0 stands for one that the first picture says.
inline void check_encoder_options(const EncoderOptions& options, bool with_size) {
  constexpr std::int32_t most = 65536;
  const std::int32_t least = with_size ? 1 : 0;
  check(options.width >= least && options.height >= least && options.width <= most && options.height <= most,
        ErrorCode::invalid_argument, "encoder: size {}x{}, expected 1 to {} each", options.width,
        options.height, most);
  check(options.rate.num > 0 && options.rate.den > 0, ErrorCode::invalid_argument,
        "encoder: rate {}/{}, expected a positive number of frames a second", options.rate.num,
        options.rate.den);
  check(options.bit_rate >= 0, ErrorCode::invalid_argument, "encoder: bit_rate {}, expected 0 or more",
        options.bit_rate);
  check(options.crf == -1 || (options.crf >= 0 && std::isfinite(options.crf)), ErrorCode::invalid_argument,
        "encoder: crf {:g}, expected 0 or more, or -1 for the codec's default", options.crf);
  check(options.bit_rate == 0 || options.crf < 0, ErrorCode::invalid_argument,
        "encoder: crf {:g} and bit_rate {} exclude each other; give one", options.crf, options.bit_rate);
  check(options.gop >= 0, ErrorCode::invalid_argument, "encoder: gop {}, expected 0 or more", options.gop);
  check(options.b_frames >= -1, ErrorCode::invalid_argument,
        "encoder: b_frames {}, expected 0 or more, or -1 for the codec's default", options.b_frames);
  check(options.threads >= 0, ErrorCode::invalid_argument, "encoder: threads {}, expected 0 or more",
        options.threads);
}

} // namespace lanner
