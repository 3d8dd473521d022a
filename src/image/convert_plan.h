#pragma once
// What one conversion of colour needs, worked out once: the CPU's rows and the GPU's kernel read the same
// numbers.

#include <lanner/image.h>

#include "image/color.h"
#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

/// Two pictures of one size, with colour descriptions without gaps.
struct ConvertJob {
  const Image& from;
  Image& to;
  ColorInfo from_color, to_color;
  int threads = 1;
};

bool is_gray(PixelFormat format) noexcept;

/// Planes that differ in storage, depth or range only: no sample is mixed with another.
bool same_structure(const ConvertJob& job) noexcept;

/// From stored samples of one image to codes (samples less their shift) of the other.
struct CodeMatrix {
  Matrix3 m;
  std::array<double, 3> b;
};
CodeMatrix code_matrix(const ConvertJob& job) noexcept;
RowMatrix row_matrix(const CodeMatrix& rule) noexcept;

/// Every pixel where it is; chroma between its samples by a triangle, at its siting.
Sampling same_size(const Image& image, const ColorInfo& color);

/// The taps of its chroma's rows alone.
Taps chroma_rows(const Image& image, const ColorInfo& color);

/// The taps that chroma is taken by from rows or columns of full size, `offset` being the pixel of the first:
/// two samples about a centre between them, else one with half of each neighbour.
Taps subsampling(std::int64_t size, double offset, int log2, std::int64_t inputs);

/// Rows that a thread takes at least.
constexpr std::int64_t rows_at_once = 16;

/// A way to convert on the CPU; false where the formats are not its own.
bool convert_planes(const ConvertJob& job);      ///< Formats of the same structure.
bool convert_ycc_to_rgb8(const ConvertJob& job); ///< Y'CbCr of 8 to 12 bits.
bool convert_rgb8_to_ycc8(const ConvertJob& job);
void convert_any(const ConvertJob& job); ///< Everything, by rows of floats.

} // namespace lanner
