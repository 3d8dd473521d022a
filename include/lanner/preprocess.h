#pragma once
// From an image of any format to a network's input tensor, in one declared pass.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/image.h>
#include <lanner/tensor.h>

namespace lanner {

/// How samples between pixels are made; each is separable and repeats the border.
enum class Resize : std::uint8_t {
  nearest,   ///< The pixel that the position lies in.
  bilinear,  ///< A triangle over two pixels.
  bicubic,   ///< Keys' kernel with a = -0.75, as in ONNX's Resize and OpenCV.
  area,      ///< The mean over the pixels that the target pixel covers.
  antialias, ///< A triangle as wide as the target pixel, never narrower than two pixels; ends at the border
             ///< (Pillow).
  antialias_cubic,   ///< Keys' kernel with a = -0.5, as wide and ending so (Pillow's BICUBIC).
  antialias_lanczos, ///< Lanczos' kernel of three lobes, as wide and ending so (Pillow's LANCZOS).
};
/// How a picture of another aspect ratio meets the target size.
enum class Fit : std::uint8_t {
  stretch,   ///< Scale both sides on their own.
  letterbox, ///< Scale to fit, pad the rest with `pad_value`: half of it on each side.
  crop,      ///< Scale to cover, or to `shorter_side`, and crop the centre.
  corner,    ///< As letterbox, in the top left corner.
};

/// A part of a picture, in its luma samples; all zero is the whole.
struct PixelRect {
  std::int32_t x = 0, y = 0, width = 0, height = 0;
  bool whole() const noexcept { return width == 0 && height == 0; }
  friend bool operator==(const PixelRect&, const PixelRect&) = default;
};

/// What a network expects of an image. First `region` of the picture is taken, then turned, then fitted:
/// samples repeat, or end, at the region's border, and its chroma samples are those that belong to one of its
/// pixels. Sample positions follow half-pixel centres; Y', Cb and Cr are sampled each in its own plane at its
/// siting (nearest: the chroma of the chosen pixel), then become R'G'B', clamped to 0..255. Colour
/// descriptions that are unspecified count as for convert(). The value of channel c is
/// `(v * scale + offset - mean[c]) / std[c]` where v is 0..255 and (scale, offset) map 0..255 onto `range`.
struct Preprocess {
  std::int32_t width = 0, height = 0; ///< Target size; 0 keeps the source's.
  DType dtype = DType::f32;           ///< u8, f16, bf16, f32.
  bool channels_last = false;         ///< Layout: false is NCHW, true NHWC.
  bool bgr = false;                   ///< Channel order.
  bool gray = false;                  ///< One channel (luma of BT.601) in place of three.
  PixelRect region;      ///< Part of the source to read; beyond the picture is Error{invalid_argument}.
  int quarter_turns = 0; ///< Turn clockwise by this many times 90 degrees, any whole number.
  Resize resize = Resize::antialias; ///< As Pillow and torchvision resize.
  Fit fit = Fit::stretch;
  std::array<float, 2> range{0.f, 255.f};
  std::array<float, 3> mean{0.f, 0.f, 0.f}; ///< In units of `range`, in the tensor's channel order.
  std::array<float, 3> std{1.f, 1.f, 1.f};
  float pad_value = 0.f; ///< Letterbox padding, 0..255.
  /// crop: the shorter side's size before the centre is cut; 0: what covers the target. stretch to a size
  /// that is open: the picture is scaled to it, its proportions kept.
  std::int32_t shorter_side = 0;
  /// stretch to a size that is open: the longer side is scaled to at most this; 0: any.
  std::int32_t longer_side = 0;
  /// letterbox, corner: no more is padded than up to the next multiple of this, so that the target may be
  /// smaller than `width` x `height`. stretch to a size that is open: its sides are the nearest multiples.
  std::int32_t multiple = 1;

  /// `imagenet` (RGB 0..1, mean .485 .456 .406, std .229 .224 .225), `imagenet-tf` (RGB -1..1), `caffe` (BGR
  /// 0..255 less 104, 117, 123), `keras-caffe` (BGR 0..255 less 103.939, 116.779, 123.68), `clip` (RGB 0..1,
  /// CLIP's mean and std; crop by antialias_cubic), `yolo` (RGB 0..1; letterbox of gray 114 by bilinear),
  /// `none` (RGB 0..255). Throws Error{invalid_argument} with the known names.
  static Preprocess preset(std::string_view name);
  /// One-line JSON with every field, and back; the form that plans and models' metadata keep:
  ///     {"width": 224, "height": 224, "dtype": "f32", "layout": "nchw" or "nhwc", "channels": "rgb", "bgr"
  ///     or "gray",
  ///      "region": [0, 0, 0, 0], "quarter_turns": 0, "resize": "antialias", "fit": "stretch", "range": [0,
  ///      1], "mean": [0, 0, 0], "std": [1, 1, 1], "pad_value": 0, "shorter_side": 0, "longer_side": 0,
  ///      "multiple": 1}
  /// A field that is left out keeps its default. Of a gray picture `bgr` is not kept. Reading also takes
  /// `"preset": "imagenet"`, whose values the other fields then change.
  std::string to_json() const;
  static Preprocess from_json(std::string_view json); ///< Unknown keys and wrong types are Error{bad_data}.
  friend bool operator==(const Preprocess&, const Preprocess&) = default;
};

/// Where the source picture landed in the target: its point (sx, sy), in pixels from the top left corner of
/// the whole picture, is the target's (xx * sx + xy * sy + x, yx * sx + yy * sy + y). Region, turn and fit
/// are all in it; without an odd number of quarter turns xy and yx are 0.
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
/// Throws Error{invalid_argument} where region or size make no sense for such a picture.
Placement placement(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height);

/// Shape of one batch element: [C, H, W] or [H, W, C].
Shape output_shape(const Preprocess& spec, std::int32_t source_width, std::int32_t source_height);

/// Where a preprocess() runs.
struct PreprocessRun {
  int threads = 1; ///< On a CPU: the caller's and up to this many less one workers.
  /// On a GPU: the stream it is queued on, image and tensor being used in its order. Null: the legacy default
  /// stream, and the call returns when the tensor is complete.
  Stream stream;
};
/// Fills batch element `batch_index` of `output`, a row-major tensor of shape [N] + output_shape, on the
/// device that `output` lies on; `image` lies there or on the host. Throws Error{invalid_argument} when shape
/// or type do not fit.
void preprocess(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index = 0,
                const PreprocessRun& run = {});
/// The same into a new tensor of shape [1] + output_shape, on the image's device.
Tensor to_tensor(const Image& image, const Preprocess& spec, const PreprocessRun& run = {});

} // namespace lanner
