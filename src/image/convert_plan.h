#pragma once
// Parameters of one colour conversion, computed once: the CPU's rows and the GPU's kernel read the same
// numbers.

#include <lanner/image.h>

#include "image/color.h"
#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

/// Two images of one size, with complete colour descriptions.
struct ConvertJob {
  const Image& from;
  Image& to;
  ColorInfo from_color, to_color;
  int threads = 1;
};

bool is_gray(PixelFormat format) noexcept;

/// Whether planes differ in storage, depth or range only: no sample is mixed with another.
bool same_structure(const ConvertJob& job) noexcept;

/// Maps stored samples of one image to codes (samples less their shift) of the other.
struct CodeMatrix {
  Matrix3 m;
  std::array<double, 3> b;
};
CodeMatrix code_matrix(const ConvertJob& job) noexcept;
RowMatrix row_matrix(const CodeMatrix& rule) noexcept;

/// Sampling without resizing; chroma is interpolated by a triangle, at its siting.
Sampling same_size(const Image& image, const ColorInfo& color);

/// The taps of its chroma rows alone.
Taps chroma_rows(const Image& image, const ColorInfo& color);

/// The taps that subsample chroma from rows or columns of full size, `offset` being the pixel of the first
/// sample: the mean of its pixels about a centre between them, else a triangle that reaches up to the
/// neighbouring samples.
Taps subsampling(std::int64_t size, double offset, int log2, std::int64_t inputs);

/// The smallest number of rows for a thread.
constexpr std::int64_t rows_at_once = 16;

/// A conversion path on the CPU; false where it does not support the formats.
bool convert_planes(const ConvertJob& job);      ///< Formats of the same structure.
bool convert_ycc_to_rgb8(const ConvertJob& job); ///< Y'CbCr of 8 to 12 bits.
bool convert_rgb8_to_ycc8(const ConvertJob& job);
void convert_any(const ConvertJob& job); ///< Any format, in rows of floats.

} // namespace lanner
