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

/// Memory order of an image's samples. Names follow FFmpeg's, without its `le`; samples of 9 to 16 bits are
/// little endian in 16 bits, in the high bits for p010/p012/p210/p212/p016/p216 and ...msb, else in the low
/// bits. Formats with `a` (yuva..., gbrap...) have a plane of opacity, Image::alpha. gbr... have their planes
/// in the order green, blue, red, as FFmpeg and its files do, rgb_planar red first.
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
  gray9,
  gray10,
  gray12,
  gray14,
  ya8,
  ya16, ///< Gray and opacity, interleaved.
  bgr48,
  rgba64,
  bgra64,
  gbrp,
  gbrp9,
  gbrp10,
  gbrp12,
  gbrp14,
  gbrp16,
  gbrap,
  gbrap10,
  gbrap12,
  gbrap16,
  yuv410p,
  yuv411p,
  yuv440p,
  yuv440p10,
  yuv440p12,
  yuv420p9,
  yuv422p9,
  yuv444p9,
  yuv420p14,
  yuv422p14,
  yuv444p14,
  yuva420p,
  yuva422p,
  yuva444p,
  yuva420p9,
  yuva422p9,
  yuva444p9,
  yuva420p10,
  yuva422p10,
  yuva444p10,
  yuva422p12,
  yuva444p12,
  yuva420p16,
  yuva422p16,
  yuva444p16, ///< The last: pixel_format_count counts them.
};
inline constexpr int pixel_format_count = static_cast<int>(PixelFormat::yuva444p16) + 1;

/// Properties of a format, for loops over its planes.
struct PixelFormatInfo {
  std::string_view name;
  std::uint8_t planes;                 ///< Image::planes in use, 1 to 3.
  std::uint8_t bytes_per_sample;       ///< 1 or 2.
  std::uint8_t bits;                   ///< Significant bits of a sample.
  std::uint8_t shift;                  ///< Left shift of the significant bits inside a sample (6 for p010).
  std::uint8_t chroma_x, chroma_y;     ///< log2 of the chroma subsampling, 0 to 2.
  std::array<std::uint8_t, 4> samples; ///< Samples interleaved in each plane_at() (2 for nv12's second).
  bool yuv;
  bool alpha_plane = false; ///< Image::alpha holds opacity.

  /// Whether the only colour is gray.
  constexpr bool gray() const noexcept { return planes == 1 && samples[0] <= 2; }
  /// Whether opacity is interleaved with the colours (rgba32, ya8).
  constexpr bool alpha_inside() const noexcept { return planes == 1 && samples[0] % 2 == 0; }
  constexpr bool has_alpha() const noexcept { return alpha_plane || alpha_inside(); }
};
const PixelFormatInfo& format_info(PixelFormat format) noexcept;
std::string_view to_string(PixelFormat format) noexcept;
/// A format by its own name, FFmpeg's (`gray`, `rgba`, `yuv420p10le`) or NVENC's where it is one of planes
/// (`YUV444_10BIT`), in any case. FFmpeg's formats that readers unpack (`yuyv422`, `pal8`) name what they are
/// unpacked to. Throws Error{invalid_argument} with the known names.
PixelFormat parse_pixel_format(std::string_view name);
/// FFmpeg's name of the same bytes: `gray` of gray8, `yuv420p10le` of yuv420p10; empty for rgb_planar and
/// bgr_planar, which it has not.
std::string ffmpeg_name(PixelFormat format);
/// Whether FFmpeg's format `name` has the bytes of `format`; full range by name (`yuvj420p`) is the same.
bool has_ffmpeg_name(PixelFormat format, std::string_view name);

/// Coefficients between R'G'B' and Y'CbCr (ITU-T H.273, MatrixCoefficients). bt2020c is BT.2020's constant
/// luminance, which takes more than a matrix: images of it are converted on the host, to any other.
enum class ColorMatrix : std::uint8_t {
  unspecified,
  bt601,
  bt709,
  bt2020,
  fcc,
  smpte240m,
  rgb,
  ycgco,
  bt2020c
};
enum class ColorRange : std::uint8_t { unspecified, limited, full };
/// Position of chroma samples relative to luma (H.273, ChromaLocType).
enum class ChromaSiting : std::uint8_t { unspecified, left, center, top_left, top, bottom_left, bottom };
std::string_view to_string(ColorMatrix) noexcept;
std::string_view to_string(ColorRange) noexcept;
std::string_view to_string(ChromaSiting) noexcept;
/// FFmpeg's names of H.273's code points (Tables 2 and 3), such as `bt2020`, `smpte2084` (PQ) and
/// `arib-std-b67` (HLG); `unspecified` for 2, `reserved` for those without a name.
std::string_view primaries_name(std::uint8_t code) noexcept;
std::string_view transfer_name(std::uint8_t code) noexcept;

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
  /// ya8).
  Plane alpha;

  /// Allocates memory on `device` with 64-byte aligned rows (256 on a GPU). Throws Error{limit_exceeded,
  /// out_of_memory}, and Error{unsupported} for a GPU that cannot be used.
  static Image allocate(PixelFormat format, std::int32_t width, std::int32_t height,
                        const Limits& limits = {}, Device device = {});
  /// A view of a u8 tensor `[height, width, 3 or 1]`, for gray8 also `[height, width]`, on the host.
  static Image from_tensor(const Tensor& tensor, PixelFormat format);
  bool defined() const noexcept { return planes[0].data != nullptr; }
};

/// The planar YUV format with chroma of full size, and the bits and the alpha of `format`, or the least bits
/// above that exist: `yuv444p10` of `p010`.
PixelFormat with_whole_chroma(PixelFormat format) noexcept;

/// Planes that raw files have of a format: `planes` of its description, then opacity's.
int plane_count(PixelFormat format) noexcept;
/// Plane `index` of them: image.planes[index], or image.alpha behind these.
const Plane& plane_at(const Image& image, int index) noexcept;
Plane& plane_at(Image& image, int index) noexcept;
/// Bytes of its rows that hold samples.
std::int64_t plane_row_bytes(const Image& image, int index) noexcept;

/// Copies pixels, and the colour description, between two images of one format and size. Where a GPU is
/// involved the copy is queued on `stream`; with a null stream it is complete at return.
void copy_image(const Image& from, Image& to, Stream stream = {});
/// Converts the pixel format between images of the same size, on the host or, with the rules of copy_image()
/// for `stream`, on one GPU. Matrix and range come from `from.color` (unspecified: BT.709 from 720 rows up,
/// BT.601 below, limited, chroma at the left); `to.color` describes the target in the same way. Results are
/// the rounded exact values. Chroma is upsampled by linear interpolation at its siting, and subsampled by the
/// mean of two pixels where it is sited between them, else with weights 1 2 1; formats that differ in
/// storage, depth or range only keep every sample. Converting colour to gray takes Y', for R'G'B' with the
/// BT.601 weights. Formats with alpha get the source's, in their depth, or are opaque if it has none. On the
/// host `threads` threads divide the rows among them. Throws Error{unsupported} for conversions that a GPU
/// does not do: chroma at a quarter of the width (yuv410p, yuv411p), a target with a plane of alpha or of 16
/// bits, BT.2020's constant luminance, to which no image is converted on the host either.
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
