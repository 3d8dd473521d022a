#pragma once
// Numeric colour: how samples encode Y'CbCr or R'G'B' (ITU-T H.273).

#include <array>

#include <lanner/image.h>

namespace lanner {

/// `color` of an image of this format and height with everything filled in: BT.709 from 720 rows up, BT.601
/// below, limited range, chroma at the left; RGB and gray are full range.
ColorInfo resolved(ColorInfo color, PixelFormat format, std::int32_t height) noexcept;

/// normal = sample * scale + offset: R'G'B' and Y' in 0..1, Cb and Cr in -0.5..0.5. `sample` is the stored
/// number, with any shift. `top` is the largest valid one.
struct SampleScale {
  double scale = 1, offset = 0;
  double top = 255;
};
/// The scale of component 0 to 2. `color` is resolved.
SampleScale sample_scale(PixelFormat format, const ColorInfo& color, int component) noexcept;

/// Rows of a 3x3 matrix applied to normal values.
using Matrix3 = std::array<std::array<double, 3>, 3>;
Matrix3 rgb_from_ycc(ColorMatrix matrix) noexcept;
Matrix3 ycc_from_rgb(ColorMatrix matrix) noexcept;
Matrix3 product(const Matrix3& a, const Matrix3& b) noexcept;

/// Luma coordinate of the first chroma sample, per axis, from 0 to the last of its pixels: 0 to 1 where
/// chroma is halved, 0 along an axis without subsampling.
struct ChromaOffset {
  double x = 0, y = 0;
};
ChromaOffset chroma_offset(PixelFormat format, ChromaSiting siting) noexcept;

/// Where a component's samples are: the plane, the first sample of a row, and the step between neighbours.
struct ComponentLayout {
  int plane = 0;
  int first = 0, step = 1;
};
/// Components are R, G, B or Y, Cb, Cr; all three are the same for gray.
ComponentLayout component_layout(PixelFormat format, int component) noexcept;

} // namespace lanner
