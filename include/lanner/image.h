#pragma once
// Images: planes of pixels with their colour description.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/device.h>
#include <lanner/limits.h>
#include <lanner/tensor.h>

namespace lanner {

/// Memory order of an image's samples. Names follow FFmpeg's; 10 to 16 bit samples are little endian in 16
/// bits, in the low bits for yuv...pNN and in the high bits for p010/p012/p210/p212/p016/p216 and ...msb.
enum class PixelFormat : std::uint8_t {
  gray8,
  gray16,
  rgb24,
  bgr24,
  rgba32,
  bgra32, ///< Interleaved.
  rgb_planar,
  bgr_planar, ///< Three planes of 8 bits.
  nv12,
  p010,
  p016,
  nv16,
  p210,
  p216,
  yuv420p,
  yuv422p,
  yuv444p,
  yuv420p10,
  yuv422p10,
  yuv444p10,
  yuv420p12,
  yuv422p12,
  yuv444p12,
  yuv420p16,
  yuv422p16,
  yuv444p16,
  rgb48,
  p012,
  p212,
  yuv444p10msb,
  yuv444p12msb,
};

/// Properties of a format, for loops over its planes.
struct PixelFormatInfo {
  std::string_view name;
  std::uint8_t planes;                 ///< 1 to 3.
  std::uint8_t bytes_per_sample;       ///< 1 or 2.
  std::uint8_t bits;                   ///< Significant bits of a sample.
  std::uint8_t shift;                  ///< Left shift of the significant bits inside a sample (6 for p010).
  std::uint8_t chroma_x, chroma_y;     ///< log2 of the chroma subsampling.
  std::array<std::uint8_t, 3> samples; ///< Samples interleaved in each plane (2 for nv12's second).
  bool yuv;
};
const PixelFormatInfo& format_info(PixelFormat format) noexcept;
std::string_view to_string(PixelFormat format) noexcept;
PixelFormat
parse_pixel_format(std::string_view name); ///< Throws Error{invalid_argument} with the known names.

/// Coefficients between R'G'B' and Y'CbCr (ITU-T H.273, MatrixCoefficients).
enum class ColorMatrix : std::uint8_t { unspecified, bt601, bt709, bt2020, fcc, smpte240m, rgb };
enum class ColorRange : std::uint8_t { unspecified, limited, full };
/// Position of chroma samples relative to luma (H.273, ChromaLocType).
enum class ChromaSiting : std::uint8_t { unspecified, left, center, top_left, top, bottom_left, bottom };
std::string_view to_string(ColorMatrix) noexcept;
std::string_view to_string(ColorRange) noexcept;
std::string_view to_string(ChromaSiting) noexcept;

struct ColorInfo {
  ColorMatrix matrix = ColorMatrix::unspecified;
  ColorRange range = ColorRange::unspecified;
  ChromaSiting siting = ChromaSiting::unspecified;
  std::uint8_t primaries = 2; ///< H.273 code points, passed on to the encoder; 2 is unspecified.
  std::uint8_t transfer = 2;
  friend bool operator==(const ColorInfo&, const ColorInfo&) = default;
};

/// One plane: `data` points at its first row, `pitch` is bytes from row to row (>= the row's own bytes).
struct Plane {
  std::byte* data = nullptr;
  std::int64_t pitch = 0;
  std::int32_t width = 0;  ///< Samples across, chroma subsampling applied (rounded up).
  std::int32_t height = 0; ///< Rows.
};

/// Pixels in memory. Copies share the memory, which lives as long as any of them. Thread safety as for
/// Tensor.
struct Image {
  PixelFormat format = PixelFormat::rgb24;
  std::int32_t width = 0, height = 0; ///< In luma samples.
  ColorInfo color;
  Device device;
  std::array<Plane, 3> planes;
  std::shared_ptr<const void> owner;
  /// Alpha, if it is a separate plane (yuva420p, gbrap): width, height, bytes and bits of a sample are those
  /// of the image; unshifted, full range. Without data the image is opaque, or alpha is interleaved (rgba32,
  /// bgra32).
  Plane alpha;

  /// Allocates memory on `device` with 64-byte aligned rows (256 on a GPU). Throws Error{limit_exceeded,
  /// out_of_memory}, and Error{unsupported} for a GPU that cannot be used.
  static Image allocate(PixelFormat format, std::int32_t width, std::int32_t height,
                        const Limits& limits = {}, Device device = {});
  /// A view of a u8 tensor `[height, width, 3 or 1]`, for gray8 also `[height, width]`, on the host.
  static Image from_tensor(const Tensor& tensor, PixelFormat format);
  bool defined() const noexcept { return planes[0].data != nullptr; }
};

/// Copies pixels, and the colour description, between two images of one format and size. Where a GPU is
/// involved the copy is queued on `stream`; with a null stream it is complete at return.
void copy_image(const Image& from, Image& to, Stream stream = {});
/// Converts the pixel format between images of the same size, on the host or, with the rules of copy_image()
/// for `stream`, on one GPU. Matrix and range come from `from.color` (unspecified: BT.709 from 720 rows up,
/// BT.601 below, limited, chroma at the left); `to.color` describes the target in the same way. Results are
/// the rounded exact values. Chroma is upsampled by linear interpolation at its siting, and subsampled by the
/// mean of two pixels where it is sited between them, else with weights 1 2 1; formats that differ in
/// storage, depth or range only keep every sample. Converting colour to gray takes Y', for R'G'B' with the
/// BT.601 weights. rgba32 and bgra32 get the source's alpha, or are opaque if it has none. On the host
/// `threads` threads divide the rows among them.
void convert_image(const Image& from, Image& to, Stream stream = {}, int threads = 1);
/// Reads a still image (PNG, JPEG, BMP, PPM/PGM, WebP, TIFF...) through the FFmpeg module; rotation from EXIF
/// is applied.
Image load_image(const std::string& path, const Limits& limits = {});
/// The same from the bytes of a file; `name` is used in errors.
Image decode_image(std::span<const std::byte> bytes, const Limits& limits = {},
                   const std::string& name = "image");
/// Writes PNG or JPEG, by the path's extension, through the FFmpeg module.
void save_image(const std::string& path, const Image& image);
/// The bytes of a PNG or JPEG file; `kind` is `png`, `jpg` or `jpeg`.
std::vector<std::byte> encode_image(const Image& image, std::string_view kind);
/// The picture, mirrored left to right first if `mirror` is set, then rotated clockwise by `quarter_turns`
/// times 90 degrees (any integer): `image` itself when there is nothing to do, else a new image on the same
/// device with the same depth and alpha: RGB stays RGB, gray stays gray, YUV becomes 4:4:4. On a GPU the
/// rules of copy_image() for `stream` apply.
Image rotated_image(const Image& image, int quarter_turns, Stream stream = {}, bool mirror = false);

} // namespace lanner
