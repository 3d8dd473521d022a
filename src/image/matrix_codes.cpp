#include "image/matrix_codes.h"

#include <array>

#include "base/check.h"

namespace lanner {

namespace {

constexpr int first_unnamed = 128; ///< Of ColorMatrix's values.

/// H.273, ColourPrimaries.
constexpr int bt709_primaries = 1, smpte170m_primaries = 6, smpte240m_primaries = 7, bt2020_primaries = 9;
/// H.273, MatrixCoefficients.
constexpr int smpte2085 = 11, derived = 12, derived_constant = 13, last_code = 17;
constexpr std::array<std::string_view, 7> names{"smpte2085", "chroma-derived-nc", "chroma-derived-c", "ictcp",
                                                "ipt-c2",    "ycgco-re",          "ycgco-ro"};

/// Equations 32 to 37 of H.273 give the weights of luma that these matrices have by name.
ColorMatrix derived_matrix(int primaries) noexcept {
  if (primaries == bt709_primaries) return ColorMatrix::bt709;
  if (primaries == bt2020_primaries) return ColorMatrix::bt2020;
  const bool smpte = primaries == smpte170m_primaries || primaries == smpte240m_primaries;
  return smpte ? ColorMatrix::smpte240m : static_cast<ColorMatrix>(first_unnamed + derived);
}

} // namespace

ColorMatrix matrix_of_code(int code, int primaries) noexcept {
  constexpr ColorMatrix unspecified = ColorMatrix::unspecified;
  constexpr std::array named{ColorMatrix::rgb,    ColorMatrix::bt709,     unspecified,
                             unspecified,         ColorMatrix::fcc,       ColorMatrix::bt601,
                             ColorMatrix::bt601,  ColorMatrix::smpte240m, ColorMatrix::ycgco,
                             ColorMatrix::bt2020, ColorMatrix::bt2020c};
  if (code < 0 || code > last_code) return unspecified;
  if (static_cast<std::size_t>(code) < named.size()) return named[static_cast<std::size_t>(code)];
  if (code == derived) return derived_matrix(primaries);
  if (code == derived_constant && primaries == bt2020_primaries) return ColorMatrix::bt2020c;
  return static_cast<ColorMatrix>(first_unnamed + code);
}

int unnamed_code(ColorMatrix matrix) noexcept {
  const int value = static_cast<int>(matrix);
  return value >= first_unnamed ? value - first_unnamed : 0;
}

std::string_view unnamed_matrix_name(int code) noexcept {
  const bool known = code >= smpte2085 && code <= last_code;
  return known ? names[static_cast<std::size_t>(code - smpte2085)] : std::string_view("reserved");
}

void check_convertible(std::string_view purpose, PixelFormat format, const ColorInfo& color) {
  const int code = format_info(format).yuv ? unnamed_code(color.matrix) : 0;
  check(
      code == 0, ErrorCode::unsupported,
      "{}: {} of matrix {} ({} of H.273{}), of which no other colours are made here; the frame's planes hold "
      "its samples, and transcoding keeps them",
      purpose, to_string(format), unnamed_matrix_name(code), code,
      code == derived || code == derived_constant
          ? fmt::format(" with primaries {}", primaries_name(color.primaries))
          : std::string());
}

} // namespace lanner
