#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/arguments.h"
#include "ops/rows.h"
#include "ops/table.h"
#include "ops/visit.h"

namespace lanner::ops {

// Pooling of regions of interest: max_roi_pool (by whole pixels) and roi_align (by interpolated samples).

static void infer_regions(InferContext& context, const Dim& height, const Dim& width) {
  const Type &x = context.input(0), &rois = context.input(1);
  require_rank(context, 0, 4);
  require_rank(context, 1, 2);
  if (!x.ranked() || !rois.ranked()) return context.set_output(0, Type::unranked(x.dtype()));
  context.set_output(0, x.with_dims({rois.dims()[0], x.dims()[1], height, width}));
}

/// One plane of the image, in double.
struct Plane {
  const double* data;
  std::int64_t height, width;
  double at(std::int64_t y, std::int64_t x) const { return data[y * width + x]; }
};

/// `prepare(region, height, width)` gives what is called with a plane of that size and the number of each bin
/// and returns the bin's value; `image` gives a region's image number.
template<typename Image, typename Prepare>
static void pool_regions(KernelContext& context, Image&& image, Prepare&& prepare) {
  constexpr std::int64_t planes = 32; // that one preparation is for
  WideOutput y(context.output(0), DType::f64);
  const Tensor x = to_dtype(context.input(0), DType::f64);
  const Shape &in = x.shape(), out = context.output(0).shape();
  const auto pooled = y.as<double>();
  for (std::int64_t region = 0; region < out[0]; ++region) {
    const std::int64_t n = image(region);
    check(n >= 0 && n < in[0], ErrorCode::invalid_argument, "region {} names image {} of a batch of {}",
          region, n, in[0]);
  }
  const std::int64_t groups = (out[1] + planes - 1) / planes, bins = out[2] * out[3];
  for_each_row(context.threads(), out[0] * groups, [&](std::int64_t row) {
    const std::int64_t region = row / groups, first = row % groups * planes;
    const auto bin = prepare(region, in[2], in[3]);
    for (std::int64_t channel = first; channel < std::min(first + planes, out[1]); ++channel) {
      const Plane plane{x.as<double>().data() + (image(region) * in[1] + channel) * in[2] * in[3], in[2],
                        in[3]};
      double* target = pooled.data() + (region * out[1] + channel) * bins;
      for (std::int64_t i = 0; i < bins; ++i) target[i] = bin(plane, i);
    }
  });
  y.store();
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
  pool_regions(context, image, [&](std::int64_t region, std::int64_t, std::int64_t) {
    return [&, region](const Plane& plane, std::int64_t bin) {
      const std::int64_t row = bin / shape[1], column = bin % shape[1];
      const PixelRange xs = bin_pixels(corner(region, 1), corner(region, 3), column, shape[1], plane.width);
      const PixelRange ys = bin_pixels(corner(region, 2), corner(region, 4), row, shape[0], plane.height);
      if (xs.first >= xs.last || ys.first >= ys.last) return 0.0;
      double most = -std::numeric_limits<double>::infinity();
      for (std::int64_t y = ys.first; y < ys.last; ++y)
        for (std::int64_t x = xs.first; x < xs.last; ++x) most = std::max(most, plane.at(y, x));
      return most;
    };
  });
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

/// The four pixels around a place with their shares; a place outside the plane has none.
struct Corners {
  std::int64_t places[4] = {};
  double weights[4] = {};
  bool inside = false;
};

static Corners corners_at(std::int64_t height, std::int64_t width, double y, double x) {
  // A place that is no number lies outside, as every place of an empty plane does.
  const bool inside = y >= -1 && y <= static_cast<double>(height) && x >= -1 &&
                      x <= static_cast<double>(width) && height > 0 && width > 0;
  if (!inside) return {};
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx},
          true};
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

/// Where a bin takes its samples, on planes of one size.
struct Samples {
  Extent ys, xs;
  std::int64_t rows, columns, height, width;

  Samples(const RoiAlign& align, const Extent& ys, const Extent& xs, std::int64_t height, std::int64_t width)
      : ys(ys), xs(xs), rows(count(align, ys.size)), columns(count(align, xs.size)), height(height),
        width(width) {}
  std::int64_t size() const { return rows * columns; }
  Corners at(std::int64_t i) const {
    const std::int64_t row = i / columns;
    const double y = ys.start + (static_cast<double>(row) + 0.5) * ys.size / static_cast<double>(rows);
    const double x =
        xs.start + (static_cast<double>(i % columns) + 0.5) * xs.size / static_cast<double>(columns);
    return corners_at(height, width, y, x);
  }

private:
  static std::int64_t count(const RoiAlign& align, double size) {
    const double asked = align.ratio > 0 ? static_cast<double>(align.ratio) : std::ceil(size);
    return asked > 0 ? static_cast<std::int64_t>(std::min(asked, 4096.0)) : std::int64_t{0};
  }
};

/// `kept` holds the samples' corners, or nothing.
static double align_bin(const RoiAlign& align, const Plane& plane, const Samples& samples,
                        std::span<const Corners> kept) {
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const Corners corners = kept.empty() ? samples.at(i) : kept[static_cast<std::size_t>(i)];
    for (int c = 0; c < 4; ++c) {
      const double share = corners.inside ? corners.weights[c] * plane.data[corners.places[c]] : 0;
      sum += share;
      most = std::max(most,
                      share); // ONNX's numbers take the largest share, not the largest interpolated sample.
    }
  }
  if (samples.size() == 0) return 0;
  return align.average ? sum / static_cast<double>(samples.size()) : most;
}

/// The bins of one region, for planes of one size.
class AlignedBins {
public:
  AlignedBins(const RoiAlign& align, const double* box, std::int64_t height, std::int64_t width)
      : align_(align) {
    constexpr std::int64_t max_kept = 1 << 14; // a model may ask for any number of samples
    Extent xs = extent_of(align, box[0], box[2]), ys = extent_of(align, box[1], box[3]);
    xs.size /= static_cast<double>(align.width);
    ys.size /= static_cast<double>(align.height);
    const std::int64_t bins = align.height * align.width;
    for (std::int64_t i = 0; i < bins; ++i) {
      const Extent row{ys.start + static_cast<double>(i / align.width) * ys.size, ys.size};
      const Extent column{xs.start + static_cast<double>(i % align.width) * xs.size, xs.size};
      samples_.emplace_back(align, row, column, height, width);
      if (samples_.front().size() > max_kept / bins) continue;
      for (std::int64_t k = 0; k < samples_.back().size(); ++k) kept_.push_back(samples_.back().at(k));
    }
  }
  double operator()(const Plane& plane, std::int64_t i) const {
    // All bins of a region have one size, and so as many samples.
    const Samples& samples = samples_[static_cast<std::size_t>(i)];
    const auto count = static_cast<std::size_t>(samples.size());
    const std::span all(kept_);
    return align_bin(align_, plane, samples,
                     all.empty() ? all : all.subspan(static_cast<std::size_t>(i) * count, count));
  }

private:
  const RoiAlign& align_;
  std::vector<Samples> samples_;
  std::vector<Corners> kept_;
};

static void run_roi_align(KernelContext& context) {
  require_roi_size(context, 4);
  const RoiAlign align = RoiAlign::read(context.attributes());
  const std::vector<double> rois = doubles_of(context.input(1));
  const std::vector<std::int64_t> images = read_integers(context.input(2), "batch_indices");
  check(images.size() * 4 == rois.size(), ErrorCode::invalid_argument, "{} batch indices for {} rois",
        images.size(), rois.size() / 4);
  const auto image = [&](std::int64_t region) { return images[static_cast<std::size_t>(region)]; };
  pool_regions(context, image, [&](std::int64_t region, std::int64_t height, std::int64_t width) {
    return AlignedBins(align, rois.data() + region * 4, height, width);
  });
}

std::vector<OpDef> roi_pool_ops() {
  OpDef max{.name = "max_roi_pool",
            .min_inputs = 2,
            .max_inputs = 2,
            .attributes = {required_attribute("pooled_shape", AttributeKind::integers),
                           real_attribute("spatial_scale", 1)},
            .infer = infer_max_roi_pool,
            .reference = run_max_roi_pool,
            .expand = {}};
  OpDef align{.name = "roi_align",
              .min_inputs = 3,
              .max_inputs = 3,
              .attributes = {string_attribute("coordinate_transformation_mode", "half_pixel"),
                             string_attribute("mode", "avg"), integer_attribute("output_height", 1),
                             integer_attribute("output_width", 1), integer_attribute("sampling_ratio", 0),
                             real_attribute("spatial_scale", 1)},
              .infer = infer_roi_align,
              .reference = run_roi_align,
              .expand = {}};
  return {std::move(max), std::move(align)};
}

} // namespace lanner::ops
