#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/counted_vector.h"
#include "device/parallel.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Pooling of regions of interest: max_roi_pool (in whole pixels) and roi_align (with interpolated samples).

static void infer_regions(InferContext& context, const Dim& height, const Dim& width) {
  const Type &x = context.input(0), &rois = context.input(1);
  require_rank(context, 0, 4);
  require_rank(context, 1, 2);
  if (!x.ranked() || !rois.ranked()) return context.set_output(0, Type::unranked(x.dtype()));
  context.set_output(0, x.with_dims({rois.dims()[0], x.dims()[1], height, width}));
}

/// `image` returns a region's image number.
template<typename Image>
static void check_images(std::int64_t regions, std::int64_t images, Image&& image) {
  for (std::int64_t region = 0; region < regions; ++region) {
    const std::int64_t n = image(region);
    check(n >= 0 && n < images, ErrorCode::invalid_argument, "region {} names image {} of a batch of {}",
          region, n, images);
  }
}

static void require_roi_size(const KernelContext& context, std::int64_t size) {
  const Shape& rois = context.input(1).shape();
  check(rois.rank() == 2 && rois[1] == size, ErrorCode::invalid_argument,
        "rois have shape {}, expected [any, {}]", rois.to_string(), size);
}

static std::vector<std::int64_t> pooled_shape(const AttributeMap& attributes) {
  const auto& shape = attributes.get<std::vector<std::int64_t>>("pooled_shape");
  check(shape.size() == 2 && shape[0] > 0 && shape[1] > 0, ErrorCode::invalid_argument,
        "pooled_shape has {} values, expected two above 0", shape.size());
  return shape;
}

static void infer_max_roi_pool(InferContext& context) {
  const std::vector<std::int64_t> shape = pooled_shape(context.attributes());
  infer_regions(context, shape[0], shape[1]);
}

struct PixelRange {
  std::int64_t first, last; ///< [first, last)
};

/// Pixels of bin `i` of `bins` over a region from `start` to `end`, both included.
static PixelRange bin_pixels(double start, double end, std::int64_t i, std::int64_t bins, std::int64_t size) {
  const double extent = std::max(end - start + 1, 1.0) / static_cast<double>(bins);
  const double first = start + std::floor(static_cast<double>(i) * extent);
  const double last = start + std::ceil(static_cast<double>(i + 1) * extent);
  const auto bound = static_cast<double>(size);
  if (std::isnan(first) || std::isnan(last)) return {0, 0};
  return {static_cast<std::int64_t>(std::clamp(first, 0.0, bound)),
          static_cast<std::int64_t>(std::clamp(last, 0.0, bound))};
}

static double most_of(const double* plane, std::int64_t width, const PixelRange& ys, const PixelRange& xs) {
  if (ys.first >= ys.last || xs.first >= xs.last) return 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t y = ys.first; y < ys.last; ++y)
    for (std::int64_t x = xs.first; x < xs.last; ++x) most = Maximum{}(most, plane[y * width + x]);
  return most;
}

static void run_max_roi_pool(KernelContext& context) {
  require_roi_size(context, 5);
  const std::vector<double> rois = doubles_of(context.input(1));
  const std::vector<std::int64_t> shape = pooled_shape(context.attributes());
  const double scale = context.attributes().real("spatial_scale", 1);
  const auto value = [&](std::int64_t region, std::int64_t i) {
    return rois[static_cast<std::size_t>(region * 5 + i)];
  };
  const auto corner = [&](std::int64_t region, std::int64_t i) {
    return std::round(value(region, i) * scale);
  };
  const auto image = [&](std::int64_t region) {
    const double number = value(region, 0);
    return number >= 0 && number < 0x1p53 ? static_cast<std::int64_t>(number) : std::int64_t{-1};
  };
  WideOutput y(context.output(0), DType::f64);
  const Tensor x = to_dtype(context.input(0), DType::f64);
  const Shape &in = x.shape(), out = context.output(0).shape();
  check_images(out[0], in[0], image);
  const auto pooled = y.as<double>();
  for_each_row(context.threads(), out[0] * out[1], [&](std::int64_t row) {
    const std::int64_t region = row / out[1], channel = row % out[1];
    const double* plane = x.as<double>().data() + (image(region) * in[1] + channel) * in[2] * in[3];
    double* target = pooled.data() + row * shape[0] * shape[1];
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      const PixelRange ys = bin_pixels(corner(region, 2), corner(region, 4), i, shape[0], in[2]);
      for (std::int64_t k = 0; k < shape[1]; ++k) {
        const PixelRange xs = bin_pixels(corner(region, 1), corner(region, 3), k, shape[1], in[3]);
        *target++ = most_of(plane, in[3], ys, xs);
      }
    }
  });
  y.store();
}

struct RoiAlign {
  std::int64_t height, width, ratio;
  double scale;
  bool half_pixel, average;

  static RoiAlign read(const AttributeMap& attributes);
};

RoiAlign RoiAlign::read(const AttributeMap& attributes) {
  RoiAlign align{attributes.integer("output_height", 1),
                 attributes.integer("output_width", 1),
                 attributes.integer("sampling_ratio", 0),
                 attributes.real("spatial_scale", 1),
                 true,
                 true};
  const std::string mode = attributes.string("mode", "avg");
  const std::string transform = attributes.string("coordinate_transformation_mode", "half_pixel");
  check(mode == "avg" || mode == "max", ErrorCode::invalid_argument, "mode is \"{}\", expected avg or max",
        mode);
  check(transform == "half_pixel" || transform == "output_half_pixel", ErrorCode::invalid_argument,
        "coordinate_transformation_mode is \"{}\", expected half_pixel or output_half_pixel", transform);
  check(align.height > 0 && align.width > 0 && align.ratio >= 0 && align.ratio < 4096,
        ErrorCode::invalid_argument, "output {}x{} with sampling_ratio {} is out of range", align.height,
        align.width, align.ratio);
  align.half_pixel = transform == "half_pixel";
  align.average = mode == "avg";
  return align;
}

static void infer_roi_align(InferContext& context) {
  const RoiAlign align = RoiAlign::read(context.attributes());
  infer_regions(context, align.height, align.width);
}

/// Start and extent of a region along one axis, in pixels of the feature map.
struct Extent {
  double start, size;
};

static Extent extent_of(const RoiAlign& align, double first, double last) {
  const double start = first * align.scale - (align.half_pixel ? 0.5 : 0);
  const double size = (last - first) * align.scale;
  return {start, align.half_pixel ? size : std::max(size, 1.0)};
}

/// A sample's position along one axis: the neighbouring pixels and their weights.
struct Sample {
  std::int64_t low, high; ///< -1 for a sample outside.
  double low_share, high_share;
};

static Sample sample_at(double at, std::int64_t size) {
  // NaN is outside, as is every position of an empty plane.
  if (!(at >= -1 && at <= static_cast<double>(size) && size > 0)) return {-1, -1, 0, 0};
  at = std::clamp(at, 0.0, static_cast<double>(size - 1));
  const auto low = static_cast<std::int64_t>(at);
  const double share = at - static_cast<double>(low);
  return {low, std::min(low + 1, size - 1), 1 - share, share};
}

/// All samples along one axis, region by region and bin by bin.
class AxisSamples {
public:
  AxisSamples(const RoiAlign& align, std::int64_t bins, std::int64_t size)
      : align_(align), bins_(bins), size_(size) {}
  /// Adds the next region, which spans from `first` to `last`.
  void add(double first, double last);
  std::span<const Sample> of(std::int64_t region, std::int64_t bin) const {
    const Region& one = regions_[static_cast<std::size_t>(region)];
    return std::span(samples_).subspan(one.first + static_cast<std::size_t>(bin) * one.count, one.count);
  }

private:
  struct Region {
    std::size_t first, count; ///< `count` samples per bin.
  };
  const RoiAlign& align_;
  std::int64_t bins_, size_;
  CountedVector<Region> regions_;
  CountedVector<Sample> samples_;
  Charge charge_{current_account()};
};

void AxisSamples::add(double first, double last) {
  Extent extent = extent_of(align_, first, last);
  extent.size /= static_cast<double>(bins_);
  const double asked = align_.ratio > 0 ? static_cast<double>(align_.ratio) : std::ceil(extent.size);
  const double count = asked > 0 ? std::min(asked, 4096.0) : 0;
  const Region region{samples_.size(), static_cast<std::size_t>(count)};
  regions_.push_back(region);
  // A model may request any number of samples.
  const std::size_t needed = samples_.size() + region.count * static_cast<std::size_t>(bins_);
  if (needed > samples_.capacity()) {
    const std::size_t room = std::max(needed, samples_.capacity() * 2);
    charge_.set(room * sizeof(Sample));
    samples_.reserve(room);
  }
  for (std::int64_t bin = 0; bin < bins_; ++bin) {
    const double start = extent.start + static_cast<double>(bin) * extent.size;
    for (std::size_t i = 0; i < region.count; ++i)
      samples_.push_back(sample_at(start + (static_cast<double>(i) + 0.5) * extent.size / count, size_));
  }
}

/// One pixel of the channels that are computed together.
constexpr std::int64_t lanes = 8;
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

/// Planes from `channel` on, interleaved by pixel; 0 beyond the last channel.
template<typename T>
static void interleave(const T* planes, std::int64_t channels, std::int64_t pixels, Lanes* out) {
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      out[i][lane] = lane < channels ? static_cast<double>(planes[lane * pixels + i]) : 0;
}

/// The value of a bin: the mean of its samples, or, as in ONNX's test data, the largest weighted pixel, not
/// the largest sample.
template<bool average>
static void align_bin(const Lanes* image, std::int64_t width, std::span<const Sample> ys,
                      std::span<const Sample> xs, Lanes& result) {
  Lanes value = Lanes{} + (average ? 0 : -std::numeric_limits<double>::infinity());
  const auto take = [&](const Lanes& share) {
    if constexpr (average)
      value += share;
    else
      value = (share > value) | (share != share) ? share : value; // NaN is the largest.
  };
  for (const Sample& y : ys)
    for (const Sample& x : xs) {
      if (y.low < 0 || x.low < 0) {
        take(Lanes{});
        continue;
      }
      const Lanes *const top = image + y.low * width, *const bottom = image + y.high * width;
      take(y.low_share * x.low_share * top[x.low]);
      take(y.low_share * x.high_share * top[x.high]);
      take(y.high_share * x.low_share * bottom[x.low]);
      take(y.high_share * x.high_share * bottom[x.high]);
    }
  const std::size_t samples = ys.size() * xs.size();
  if (samples == 0)
    result = Lanes{};
  else
    result = average ? value / static_cast<double>(samples) : value;
}

/// Inputs of the pooling of all regions.
struct AlignedRegions {
  const RoiAlign& align;
  const AxisSamples &ys, &xs;
  std::span<const std::int64_t> images;
  std::int64_t channels, width;

  /// Pools channels from `channel` on for those regions from `first` to `last` that are in image `n`, given
  /// interleaved by pixel.
  template<typename T>
  void pool(const Lanes* image, std::int64_t n, std::int64_t channel, std::int64_t first, std::int64_t last,
            T* out) const;
};

template<typename T>
void AlignedRegions::pool(const Lanes* image, std::int64_t n, std::int64_t channel, std::int64_t first,
                          std::int64_t last, T* out) const {
  const std::int64_t bins = align.height * align.width, taken = std::min(lanes, channels - channel);
  for (std::int64_t region = first; region < last; ++region) {
    if (images[static_cast<std::size_t>(region)] != n) continue;
    check_deadline();
    T* const target = out + (region * channels + channel) * bins;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const auto rows = ys.of(region, bin / align.width), columns = xs.of(region, bin % align.width);
      Lanes value;
      if (align.average)
        align_bin<true>(image, width, rows, columns, value);
      else
        align_bin<false>(image, width, rows, columns, value);
      for (std::int64_t lane = 0; lane < taken; ++lane)
        target[lane * bins + bin] = static_cast<T>(value[lane]);
    }
  }
}

static void run_roi_align(KernelContext& context) {
  require_roi_size(context, 4);
  const RoiAlign align = RoiAlign::read(context.attributes());
  const std::vector<double> rois = doubles_of(context.input(1));
  const std::vector<std::int64_t> images = read_integers(context.input(2), "batch_indices");
  check(images.size() * 4 == rois.size(), ErrorCode::invalid_argument, "{} batch indices for {} rois",
        images.size(), rois.size() / 4);
  const DType type = context.input(0).dtype() == DType::f32 ? DType::f32 : DType::f64;
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const Shape& in = x.shape();
  const auto regions = static_cast<std::int64_t>(images.size());
  check_images(regions, in[0], [&](std::int64_t region) { return images[static_cast<std::size_t>(region)]; });
  AxisSamples ys(align, align.height, in[2]), xs(align, align.width, in[3]);
  for (std::size_t i = 0; i < rois.size(); i += 4) {
    ys.add(rois[i + 1], rois[i + 3]);
    xs.add(rois[i], rois[i + 2]);
  }
  const AlignedRegions aligned{align, ys, xs, images, in[1], in[3]};
  const std::int64_t pixels = in[2] * in[3], blocks = (in[1] + lanes - 1) / lanes, planes = in[0] * blocks;
  const std::int64_t parts = regions == 0 ? 0 : planes < context.threads() ? context.threads() : 1;
  visit_dtype(type, Types<float, double>{}, [&]<typename T>(Tag<T>) {
    parallel_for(context.threads(), 0, planes * parts, 1, [&](std::int64_t begin, std::int64_t end) {
      const Tensor memory = Tensor::allocate(DType::f64, {pixels, lanes});
      auto* const image = static_cast<Lanes*>(const_cast<void*>(memory.data()));
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t part = i % parts, n = i / parts / blocks, channel = i / parts % blocks * lanes;
        interleave(x.as<T>().data() + (n * in[1] + channel) * pixels, in[1] - channel, pixels, image);
        aligned.pool(image, n, channel, regions * part / parts, regions * (part + 1) / parts,
                     y.as<T>().data());
      }
    });
  });
  y.store();
}

/// Boxes and image numbers are split; the images are shared.
static bool splits_boxes(const Split& split) {
  return split.shared[0] && split.parts[1] && split.parts[2];
}

std::vector<OpDef> roi_pool_ops() {
  OpDef max{.name = "max_roi_pool",
            .min_inputs = 2,
            .max_inputs = 2,
            .operands = {{"x", dtypes::floats, 'T', "_ _ _ _"}, {"rois", dtypes::floats, 'T', "R 5"}},
            .attributes = {required_attribute("pooled_shape", AttributeKind::integers,
                                              window_range(1).counted(2, 2)),
                           real_attribute("spatial_scale", 1, finite())},
            .infer = infer_max_roi_pool,
            .reference = run_max_roi_pool,
            .expand = {},
            .traits = {.pattern = Pattern::sampling, .discontinuous = true}};
  OpDef align{.name = "roi_align",
              .min_inputs = 3,
              .max_inputs = 3,
              .operands = {{"x", dtypes::floats, 'T', "_ _ _ _"},
                           {"rois", dtypes::floats, 'T', "R 4"},
                           {"batch_indices", dtypes::counts, 0, "R"}},
              .attributes = {string_attribute("coordinate_transformation_mode", "half_pixel",
                                              one_of({"half_pixel", "output_half_pixel"})),
                             string_attribute("mode", "avg", one_of({"avg", "max"})),
                             integer_attribute("output_height", 1, between(1, INT32_MAX)),
                             integer_attribute("output_width", 1, between(1, INT32_MAX)),
                             integer_attribute("sampling_ratio", 0, between(0, 4095)),
                             real_attribute("spatial_scale", 1, finite())},
              .infer = infer_roi_align,
              .reference = run_roi_align,
              .expand = {},
              .traits = {.pattern = Pattern::sampling, .accumulates = true, .split = splits_boxes}};
  return {std::move(max), std::move(align)};
}

} // namespace lanner::ops
