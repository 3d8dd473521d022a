#pragma once
// Matrices by their code points (ITU-T H.273, MatrixCoefficients), also those that are not converted.

#include <lanner/image.h>

namespace lanner {

/// The matrix of a stream that states these code points. Those derived from the primaries (12, 13) are named
/// by what they come to. Of the others without a name in ColorMatrix (ICtCp, SMPTE ST 2085, YCgCo-R ...) the
/// code point is kept as a value behind those with names: images keep their samples and what they are, and
/// convert_image() refuses to make another matrix of them. `unspecified` for 2 and for reserved ones.
ColorMatrix matrix_of_code(int code, int primaries) noexcept;
/// The code point of a matrix without a name in ColorMatrix; 0 of those that have one.
int unnamed_code(ColorMatrix matrix) noexcept;
/// FFmpeg's name of that code point.
std::string_view unnamed_matrix_name(int code) noexcept;
/// Throws Error{unsupported} for YUV of such a matrix. `purpose`: `convert`.
void check_convertible(std::string_view purpose, PixelFormat format, const ColorInfo& color);

} // namespace lanner
