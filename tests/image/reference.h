#pragma once
// Reference implementation of colour conversion and resampling in float64, directly from the formulas.

#include <array>

#include <lanner/image.h>
#include <lanner/preprocess.h>

namespace lanner::test {

/// Random samples over the whole range of the format's codes, the same for one seed.
Image random_image(PixelFormat format, std::int32_t width, std::int32_t height, unsigned seed);

/// The stored sample of component 0 to 2 (R, G, B or Y, Cb, Cr) without its shift; coordinates in that
/// component's plane, clamped to it.
double sample_at(const Image& image, int component, std::int64_t x, std::int64_t y);

/// R'G'B' of one pixel in 0..1, not clamped; chroma is interpolated by a triangle at its siting.
std::array<double, 3> rgb_at(const Image& image, std::int32_t x, std::int32_t y);

/// Value of tensor channel `c` at column `x`, row `y` by the documented formula of Preprocess.
double preprocessed(const Image& image, const Preprocess& spec, int c, std::int64_t x, std::int64_t y);

} // namespace lanner::test
