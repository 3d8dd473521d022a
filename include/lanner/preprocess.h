#pragma once
// Preprocessing: from an image of any format to a network's input tensor, in one declared pass.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/image.h>
#include <lanner/tensor.h>

namespace lanner {

/// How pixels are interpolated; each is separable and repeats the border.
enum class Resize : std::uint8_t {
  nearest,           ///< The pixel that contains the position.
  bilinear,          ///< A triangle over two pixels.
  bicubic,           ///< Keys' kernel with a = -0.75, as in ONNX's Resize and OpenCV.
  area,              ///< The mean over the pixels that the target pixel covers.
  antialias,         ///< A triangle as wide as the target pixel, at least two pixels; cut off at the border
                     ///< (Pillow).
  antialias_cubic,   ///< The same with Keys' kernel, a = -0.5 (Pillow's BICUBIC).
  antialias_lanczos, ///< The same with Lanczos' kernel of three lobes (Pillow's LANCZOS).
};
/// How a picture of another aspect ratio is fitted to the target size.
enum class Fit : std::uint8_t {
  stretch,   ///< Scale each side independently.
  letterbox, ///< Scale to fit, pad the rest with `pad_value`: half of it on each side.
  crop,      ///< Scale to cover, or to `shorter_side`, and crop the centre.
  corner,    ///< As letterbox, with the picture in the top left corner.
};

/// A part of a picture, in its luma samples; all zero is the whole.
struct PixelRect {
  std::int32_t x = 0, y = 0, width = 0, height = 0;
  bool whole() const noexcept { return width == 0 && height == 0; }
  friend bool operator==(const PixelRect&, const PixelRect&) = default;
};

/// What a network expects of an image. First `region` of the picture is cut out, then rotated, then fitted:
/// at its border samples are repeated or cut off, and a chroma sample belongs to it if one of its pixels uses
/// it. Sample positions follow half-pixel centres; Y', Cb and Cr are each sampled in their own plane at their
/// siting (nearest: the chroma of the chosen pixel), then converted to R'G'B', clamped to 0..255. Unspecified
/// colour descriptions are resolved as for convert_image(). The value of channel c is `(v * scale + offset -
/// mean[c]) / std[c]` where v is 0..255 and (scale, offset) map 0..255 onto `range`.
struct Preprocess {
  std::int32_t width = 0, height = 0; ///< Target size; 0 keeps the source's.
  DType dtype = DType::f32;           ///< u8, f16, bf16, f32.
  bool channels_last = false;         ///< Layout: false is NCHW, true NHWC.
  bool bgr = false;                   ///< Channel order.
  bool gray = false;                  ///< One channel (luma of BT.601) instead of three.
  PixelRect region;      ///< Part of the source to read; outside the picture is Error{invalid_argument}.
  int quarter_turns = 0; ///< Rotate clockwise by this many times 90 degrees, any integer.
  Resize resize = Resize::antialias; ///< As in Pillow and torchvision.
  Fit fit = Fit::stretch;
  std::array<float, 2> range{0.f, 255.f};
  std::array<float, 3> mean{0.f, 0.f, 0.f}; ///< In units of `range`, in the tensor's channel order.
  std::array<float, 3> std{1.f, 1.f, 1.f};
  float pad_value = 0.f; ///< Letterbox padding, 0..255.
  /// For `crop`: size of the shorter side before the centre is cropped; 0: as small as covers the target. For
  /// `stretch` to an open size: the shorter side is scaled to this, keeping the aspect ratio.
  std::int32_t shorter_side = 0;
  /// For `stretch` to an open size: the longer side is scaled to at most this; 0: any size.
  std::int32_t longer_side = 0;
  /// For `letterbox` and `corner`: pad only to the next multiple of this, instead of the full `width` x
  /// `height`. For `stretch` to an open size: round the sides to the nearest multiples.
  std::int32_t multiple = 1;

  /// `imagenet` (RGB 0..1, mean .485 .456 .406, std .229 .224 .225), `imagenet-tf` (RGB -1..1), `caffe` (BGR
  /// 0..255 less 104, 117, 123), `keras-caffe` (BGR 0..255 less 103.939, 116.779, 123.68), `clip` (RGB 0..1,
  /// CLIP's mean and std; crop by antialias_cubic), `yolo` (RGB 0..1; letterbox of gray 114 by bilinear),
  /// `none` (RGB 0..255). Throws Error{invalid_argument} with the known names.
  static Preprocess preset(std::string_view name);
  /// One-line JSON with every field, and back; the form stored in plans and models' metadata:
  ///     {"width": 224, "height": 224, "dtype": "f32", "layout": "nchw" or "nhwc", "channels": "rgb", "bgr"
  ///     or "gray",
  ///      "region": [0, 0, 0, 0], "quarter_turns": 0, "resize": "antialias", "fit": "stretch", "range": [0,
  ///      1], "mean": [0, 0, 0], "std": [1, 1, 1], "pad_value": 0, "shorter_side": 0, "longer_side": 0,
  ///      "multiple": 1}
  /// A missing field keeps its default. For a gray picture `bgr` is not stored. Reading also accepts
  /// `"preset": "imagenet"`, whose values the other fields then override.
  std::string to_json() const;
  static Preprocess from_json(std::string_view json); ///< Unknown keys and wrong types are Error{bad_data}.
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

/// Where the source picture is in the target: its point (sx, sy), in pixels from the top left corner of
/// the whole picture, maps to the target's (xx * sx + xy * sy + x, yx * sx + yy * sy + y). Includes region,
/// rotation and fit; without an odd number of quarter turns xy and yx are 0.
struct Placement {
  double xx = 1, xy = 0, x = 0;
  double yx = 0, yy = 1, y = 0;
  std::array<double, 2> to_target(double sx, double sy) const noexcept {
    return {xx * sx + xy * sy + x, yx * sx + yy * sy + y};
  }
  std::array<double, 2> to_source(double tx, double ty) const noexcept {
    const double scale = 1 / (xx * yy - xy * yx);
    return {(yy * (tx - x) - xy * (ty - y)) * scale, (xx * (ty - y) - yx * (tx - x)) * scale};
  }
};
/// Throws Error{invalid_argument} where region or size are invalid for such a picture.
Placement placement(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height);

/// Shape of one batch element: [C, H, W] or [H, W, C].
Shape output_shape(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height);

/// Threads or stream of a preprocess().
struct PreprocessRun {
  int threads = 1; ///< On a CPU: the caller's thread and up to `threads` - 1 workers.
  /// On a GPU: the stream it is queued on; image and tensor are used in stream order. Null: the legacy
  /// default stream, and the call returns when the tensor is complete.
  Stream stream;
};
/// Fills batch element `batch_index` of `output`, a row-major tensor of shape [N] + output_shape, on the
/// device of `output`; `image` is there or on the host. Throws Error{invalid_argument} when shape or type do
/// not fit.
void preprocess(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index = 0,
                const PreprocessRun& run = {});
/// The same into a new tensor of shape [1] + output_shape, on the image's device.
Tensor to_tensor(const Image& image, const Preprocess& spec, const PreprocessRun& run = {});

} // namespace lanner
