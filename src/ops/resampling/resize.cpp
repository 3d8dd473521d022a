#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/narrowed.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/resampling/axis_taps.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"
#include "tensor/strings.h"

namespace lanner::ops {

// Inference.

enum class AspectPolicy { stretch, not_larger, not_smaller };

static AspectPolicy aspect_policy(const AttributeMap& attributes) {
  const std::string name = attributes.string("keep_aspect_ratio_policy", "stretch");
  if (name == "stretch") return AspectPolicy::stretch;
  if (name == "not_larger") return AspectPolicy::not_larger;
  check(name == "not_smaller", ErrorCode::invalid_argument,
        "keep_aspect_ratio_policy is \"{}\", expected stretch, not_larger or not_smaller", name);
  return AspectPolicy::not_smaller;
}

/// The common scale of all resized axes under a policy other than stretch.
static double common_scale(AspectPolicy policy, std::span<const double> scales) {
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  return policy == AspectPolicy::not_larger ? *least : *most;
}

static std::int64_t round_half_up(double x) {
  return static_cast<std::int64_t>(std::floor(x + 0.5));
}

// Models store scales as floats, so sizes are computed in float: floor(10 * 0.7f) is 7, not 6.
static std::int64_t scaled_size(std::int64_t size, double scale) {
  const float product = static_cast<float>(size) * static_cast<float>(scale);
  check(product >= 0 && product < 1e15f, ErrorCode::invalid_argument,
        "size {} times scale {} is out of range", size, scale);
  return static_cast<std::int64_t>(std::floor(product));
}

/// A symbolic size times a scale that is a simple fraction.
static std::optional<Dim> scaled_dim(const Dim& size, double scale) {
  if (size.is_constant()) return Dim(scaled_size(size.value(), scale));
  for (std::int64_t divisor = 1; divisor <= 32; ++divisor) {
    const double multiple = scale * static_cast<double>(divisor);
    if (multiple != std::floor(multiple) || multiple < 0 || multiple > 1e6) continue;
    return floor_div(size * static_cast<std::int64_t>(multiple), divisor);
  }
  return std::nullopt;
}

static void require_count(std::size_t found, std::size_t expected, std::string_view what) {
  check(found == expected, ErrorCode::invalid_argument, "{} has {} values, expected {}", what, found,
        expected);
}

static bool crops(const AttributeMap& attributes) {
  return attributes.string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

static bool given(const InferContext& context, std::size_t i) {
  if (!context.has(i)) return false;
  const Type& type = context.input(i); // Exporters write an empty tensor for an absent input.
  return !(type.ranked() && type.rank() == 1 && type.dims()[0] == Dim(0));
}

static void size_by_sizes(InferContext& context, std::span<const std::size_t> axes, Dims& dims) {
  check(is_integer(context.input(3).dtype()), ErrorCode::invalid_argument, "sizes are {}, expected integers",
        to_string(context.input(3).dtype()));
  const std::optional<Dims> sizes = known_elements(context, 3);
  if (sizes) require_count(sizes->size(), axes.size(), "sizes");
  const AspectPolicy policy = aspect_policy(context.attributes());
  bool known = sizes.has_value();
  std::vector<double> scales;
  for (std::size_t i = 0; known && policy != AspectPolicy::stretch && i < axes.size(); ++i) {
    const Dim& size = dims[axes[i]];
    known = size.is_constant() && (*sizes)[i].is_constant() && size.value() > 0;
    if (known) scales.push_back(static_cast<double>((*sizes)[i].value()) / static_cast<double>(size.value()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& size = dims[axes[i]];
    if (!known)
      size = context.fresh("resized", Dim(INT32_MAX));
    else if (policy == AspectPolicy::stretch)
      size = (*sizes)[i];
    else
      size = Dim(round_half_up(common_scale(policy, scales) * static_cast<double>(size.value())));
    check(!size.is_constant() || size.value() >= 0, ErrorCode::invalid_argument,
          "sizes holds {}, expected at least 0", size.to_string());
  }
}

static void size_by_scales(InferContext& context, std::span<const std::size_t> axes, Dims& dims) {
  std::vector<double> scales;
  if (context.known(2).tensor) scales = doubles_of(*context.known(2).tensor);
  const bool cropped = crops(context.attributes()) && given(context, 1);
  std::vector<double> roi;
  if (cropped && context.known(1).tensor) roi = doubles_of(*context.known(1).tensor);
  if (!scales.empty()) require_count(scales.size(), axes.size(), "scales");
  if (!roi.empty()) require_count(roi.size(), 2 * axes.size(), "roi");
  const bool known = !scales.empty() && (!cropped || !roi.empty());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::optional<Dim> size;
    if (known) {
      check(scales[i] > 0, ErrorCode::invalid_argument, "scales holds {}, expected more than 0", scales[i]);
      size = scaled_dim(dims[axes[i]], scales[i] * (cropped ? roi[axes.size() + i] - roi[i] : 1));
    }
    dims[axes[i]] = size ? *size : context.fresh("resized", Dim(INT32_MAX));
  }
}

static void infer_resize(InferContext& context) {
  const Type& x = context.input(0);
  const bool by_scales = given(context, 2), by_sizes = given(context, 3);
  check(by_scales != by_sizes, ErrorCode::invalid_argument, "{} of scales and sizes given, expected one",
        by_scales ? "both" : "none");
  if (!x.ranked()) return infer_like(context);
  const std::vector<std::size_t> axes = axes_attribute(context.attributes(), x.rank());
  check(!axes.empty(), ErrorCode::invalid_argument, "{} has no axis to resize", x.to_string());
  const auto count_of = [&](std::size_t i) {
    return given(context, i) ? static_length(context, i) : std::nullopt;
  };
  if (const auto count = count_of(by_sizes ? 3 : 2))
    require_count(*count, axes.size(), by_sizes ? "sizes" : "scales");
  if (const auto count = count_of(1); count && crops(context.attributes()))
    require_count(*count, 2 * axes.size(), "roi");
  Dims dims = x.dims();
  if (by_sizes)
    size_by_sizes(context, axes, dims);
  else
    size_by_scales(context, axes, dims);
  context.set_output(0, x.with_dims(std::move(dims)));
}

// Mapping of output to input coordinates.

struct ResizedAxis {
  std::size_t axis = 0;
  std::int64_t in = 0, out = 0;
  double scale = 1, start = 0, end = 1; ///< `start` and `end` are the region of interest, as fractions.
};

enum class Transform {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  crop
};

static Transform parse_transform(const std::string& name) {
  if (name == "half_pixel") return Transform::half_pixel;
  if (name == "half_pixel_symmetric") return Transform::half_pixel_symmetric;
  if (name == "pytorch_half_pixel") return Transform::pytorch_half_pixel;
  if (name == "align_corners") return Transform::align_corners;
  if (name == "asymmetric") return Transform::asymmetric;
  check(name == "tf_crop_and_resize", ErrorCode::invalid_argument,
        "coordinate_transformation_mode is \"{}\", which is not one of ONNX's", name);
  return Transform::crop;
}

// For align_corners ONNX's text uses the scaled input length, which may be a fraction, as the output's: 2.4
// for 3 elements, so that the last element would not be a corner. Exporters and runtimes use the number of
// elements.
static double original_coordinate(const ResizedAxis& axis, Transform transform, std::int64_t index) {
  const auto x = static_cast<double>(index), in = static_cast<double>(axis.in);
  const double length = axis.scale * in;
  const double centred = (x + 0.5) / axis.scale - 0.5;
  switch (transform) {
  case Transform::half_pixel:
    return centred;
  case Transform::half_pixel_symmetric:
    return in / 2 * (1 - static_cast<double>(axis.out) / length) + centred;
  case Transform::pytorch_half_pixel:
    return axis.out > 1 ? centred : 0;
  case Transform::align_corners:
    return axis.out == 1 ? 0 : x * (in - 1) / static_cast<double>(axis.out - 1);
  case Transform::asymmetric:
    // In float like scales: 7 / 0.7f is 10, which must not round up to 11.
    return static_cast<float>(x) / static_cast<float>(axis.scale);
  case Transform::crop:
    if (axis.out <= 1) return 0.5 * (axis.start + axis.end) * (in - 1);
    return axis.start * (in - 1) + x * (axis.end - axis.start) * (in - 1) / static_cast<double>(axis.out - 1);
  }
  return centred;
}

// Interpolation along one axis.

struct Filter {
  enum class Mode { nearest, linear, cubic } mode = Mode::nearest;
  std::string nearest_mode;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;

  static Filter read(const AttributeMap& attributes);
  double support() const { return mode == Mode::linear ? 1 : 2; }
  double kernel(double distance) const;
};

Filter Filter::read(const AttributeMap& attributes) {
  Filter filter;
  const std::string name = attributes.string("mode", "nearest");
  check(name == "nearest" || name == "linear" || name == "cubic", ErrorCode::invalid_argument,
        "mode is \"{}\", expected nearest, linear or cubic", name);
  filter.mode = name == "nearest" ? Mode::nearest : name == "linear" ? Mode::linear : Mode::cubic;
  filter.nearest_mode = attributes.string("nearest_mode", "round_prefer_floor");
  filter.cubic_a = attributes.real("cubic_coeff_a", -0.75);
  filter.antialias = attributes.flag("antialias");
  filter.exclude_outside = attributes.flag("exclude_outside");
  return filter;
}

// Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, equation 4 with a free `a`.
double Filter::kernel(double distance) const {
  const double d = std::abs(distance);
  if (mode == Mode::linear) return std::max(0.0, 1 - d);
  if (d <= 1) return ((cubic_a + 2) * d - (cubic_a + 3)) * d * d + 1;
  if (d < 2) return ((cubic_a * d - 5 * cubic_a) * d + 8 * cubic_a) * d - 4 * cubic_a;
  return 0;
}

// Scales are f32, so 27 / 2.7 is 10 only by f32's rounding, which other implementations rely on.
static std::int64_t nearest_index(double exact, const std::string& mode) {
  const double x = static_cast<double>(static_cast<float>(exact));
  if (mode == "round_prefer_floor") return static_cast<std::int64_t>(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(x));
  check(mode == "ceil", ErrorCode::invalid_argument, "nearest_mode is \"{}\", which is not one of ONNX's",
        mode);
  return static_cast<std::int64_t>(std::ceil(x));
}

/// How each output index of an axis is computed from the inputs along it.
struct AxisPlan {
  ResizedAxis axis;
  CountedVector<std::int64_t> begins; ///< As in ResampledAxis; empty: each index has one input.
  CountedVector<std::int64_t> indices;
  CountedVector<double> weights; ///< Empty: all are 1.
  CountedVector<bool> outside;   ///< Whether an index is outside the input; empty: none is.

  std::size_t begin(std::size_t i) const { return begins.empty() ? i : static_cast<std::size_t>(begins[i]); }
  double weight(std::size_t tap) const { return weights.empty() ? 1 : weights[tap]; }
  bool is_outside(std::size_t i) const { return !outside.empty() && outside[i]; }
};

static void add_taps(AxisPlan& plan, double x, const Filter& filter) {
  const auto last = static_cast<double>(plan.axis.in - 1);
  // A shrinking axis widens the filter, so that every input contributes.
  const double shrink = filter.antialias ? std::min(1.0, plan.axis.scale) : 1;
  const double reach = filter.support() / shrink;
  check(reach <= 1e7, ErrorCode::limit_exceeded, "a scale of {} is too small to antialias", plan.axis.scale);
  const std::size_t first = plan.weights.size();
  double sum = 0;
  for (double position = std::floor(x - reach) + 1; position < x + reach; ++position) {
    const bool outside = position < 0 || position > last;
    if (outside && filter.exclude_outside) continue;
    const double weight = filter.kernel((position - x) * shrink);
    plan.indices.push_back(static_cast<std::int64_t>(std::clamp(position, 0.0, last)));
    plan.weights.push_back(weight);
    sum += weight;
  }
  if ((filter.antialias || filter.exclude_outside) && sum != 0)
    for (std::size_t t = first; t < plan.weights.size(); ++t) plan.weights[t] /= sum;
  plan.begins.push_back(static_cast<std::int64_t>(plan.indices.size()));
}

/// Nothing where it has more than `most` taps.
static std::optional<AxisPlan> plan_axis(const ResizedAxis& axis, const AttributeMap& attributes,
                                         std::size_t most) {
  const Filter filter = Filter::read(attributes);
  const Transform transform =
      parse_transform(attributes.string("coordinate_transformation_mode", "half_pixel"));
  check(axis.in > 0 || axis.out == 0, ErrorCode::invalid_argument, "an empty axis cannot grow to {}",
        axis.out);
  const auto count = static_cast<std::size_t>(axis.out);
  if (count > most) return std::nullopt;
  const bool nearest = filter.mode == Filter::Mode::nearest;
  AxisPlan plan{axis, {}, {}, {}, {}};
  plan.indices.reserve(count);
  if (transform == Transform::crop) plan.outside.reserve(count);
  if (!nearest) {
    plan.begins.reserve(count + 1);
    plan.begins.push_back(0);
  }
  for (std::int64_t i = 0; i < axis.out && plan.indices.size() <= most; ++i) {
    if (i % rows_between_checks == 0 || !nearest) check_deadline();
    double x = original_coordinate(axis, transform, i);
    if (transform == Transform::crop) plan.outside.push_back(x < 0 || x > static_cast<double>(axis.in - 1));
    // Far outside only the nearest input contributes; the bound keeps untrusted scales from overflowing
    // indices.
    x = std::clamp(x, -1e9, 1e9);
    if (nearest)
      plan.indices.push_back(std::clamp<std::int64_t>(nearest_index(x, filter.nearest_mode), 0, axis.in - 1));
    else
      add_taps(plan, x, filter);
  }
  if (plan.indices.size() > most) return std::nullopt;
  return plan;
}

// Weights of an index are added: a cubic's taps of weight 0 beyond the border are clamped to the same index.
static bool is_identity(const AxisPlan& plan) {
  if (plan.axis.in != plan.axis.out) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.axis.out); ++i) {
    if (plan.is_outside(i)) return false;
    double own = 0;
    for (std::size_t t = plan.begin(i); t < plan.begin(i + 1); ++t) {
      if (plan.indices[t] == static_cast<std::int64_t>(i))
        own += plan.weight(t);
      else if (plan.weight(t) != 0)
        return false;
    }
    if (own != 1) return false;
  }
  return true;
}

static std::vector<ResizedAxis> read_axes(const TapsQuestion& question) {
  const AttributeMap& attributes = question.attributes;
  const Shape& x = question.input;
  const auto present = [&](std::size_t i) {
    const Tensor* value = question.value(i);
    return value && value->elements() > 0;
  };
  const std::vector<std::size_t> numbers = axes_attribute(attributes, x.rank());
  std::vector<double> scales, roi;
  if (present(2))
    scales = doubles_of(*question.value(2));
  else
    for (const double size : doubles_of(*question.value(3))) {
      const auto in = static_cast<double>(x[numbers[scales.size()]]);
      scales.push_back(in == 0 ? 1 : size / in);
    }
  if (const AspectPolicy policy = aspect_policy(attributes); !present(2) && policy != AspectPolicy::stretch)
    scales.assign(scales.size(), common_scale(policy, scales));
  if (crops(attributes) && present(1)) roi = doubles_of(*question.value(1));
  std::vector<ResizedAxis> axes;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ResizedAxis axis{numbers[i], x[numbers[i]], question.output[numbers[i]], scales[i]};
    if (!roi.empty()) {
      axis.start = roi[i];
      axis.end = roi[numbers.size() + i];
    }
    axes.push_back(axis);
  }
  return axes;
}

/// Plans of the axes that change; nothing where one has more than `most` taps.
static std::optional<std::vector<AxisPlan>> plan_axes(const TapsQuestion& question, std::size_t most) {
  std::vector<AxisPlan> plans;
  for (const ResizedAxis& axis : read_axes(question)) {
    std::optional<AxisPlan> plan = plan_axis(axis, question.attributes, most);
    if (!plan) return std::nullopt;
    if (!is_identity(*plan)) plans.push_back(*std::move(plan));
  }
  // Axes that shrink most go first, so that later ones process less.
  std::stable_sort(plans.begin(), plans.end(),
                   [](const AxisPlan& a, const AxisPlan& b) { return a.axis.scale < b.axis.scale; });
  return plans;
}

std::optional<std::vector<ResampledAxis>> resize_taps(const TapsQuestion& question) {
  constexpr std::size_t most = 1u << 22; // a table of more is left to the definition
  const auto plans = plan_axes(question, most);
  if (!plans) return std::nullopt;
  std::vector<ResampledAxis> list;
  for (const AxisPlan& plan : *plans) {
    if (std::ranges::count(plan.outside, true) > 0) return std::nullopt;
    ResampledAxis made{plan.axis.axis, {0}, {}, {}};
    made.indices.assign(plan.indices.begin(), plan.indices.end());
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan.axis.out); ++i)
      made.begins.push_back(static_cast<std::int32_t>(plan.begin(i + 1)));
    for (std::size_t t = 0; t < plan.indices.size(); ++t)
      made.weights.push_back(static_cast<float>(plan.weight(t)));
    list.push_back(std::move(made));
  }
  return list;
}

// Kernels: one axis after another.

template<typename T>
static Tensor resample(const Tensor& x, const AxisPlan& plan, int threads) {
  Shape shape = x.shape();
  shape[plan.axis.axis] = plan.axis.out;
  Tensor y = Tensor::allocate(x.dtype(), shape);
  const AxisView from = view_axis(x.shape(), plan.axis.axis);
  for_each_row(threads, from.outer * plan.axis.out, [&](std::int64_t row) {
    const std::int64_t o = row / plan.axis.out;
    const auto index = static_cast<std::size_t>(row % plan.axis.out);
    const std::size_t first = plan.begin(index), last = plan.begin(index + 1);
    const T* in = x.as<T>().data() + o * from.size * from.inner;
    T* out = y.as<T>().data() + row * from.inner;
    if constexpr (std::is_floating_point_v<T>) {
      std::fill_n(out, from.inner, T{0});
      for (std::size_t t = first; t < last; ++t) {
        const T weight = static_cast<T>(plan.weight(t));
        const T* source = in + plan.indices[t] * from.inner;
        for (std::int64_t i = 0; i < from.inner; ++i) out[i] += weight * source[i];
      }
    } else {
      const T* source = in + plan.indices[first] * from.inner;
      for (std::int64_t i = 0; i < from.inner; ++i) assign_element(out[i], source[i]);
    }
  });
  return y;
}

// tf_crop_and_resize sets outputs outside the input to one value.
template<typename T>
static void extrapolate(Tensor& y, const AxisPlan& plan, double value) {
  if (y.elements() == 0) return; // The dims may have any size.
  const AxisView view = view_axis(y.shape(), plan.axis.axis);
  for (std::int64_t row = 0; row < view.outer * view.size; ++row) {
    if (!plan.is_outside(static_cast<std::size_t>(row % view.size))) continue;
    if constexpr (!std::is_same_v<T, std::string>)
      std::fill_n(y.as<T>().begin() + row * view.inner, view.inner, narrowed<T>(static_cast<float>(value)));
  }
}

static void run_resize(KernelContext& context) {
  const AttributeMap& attributes = context.attributes();
  Tensor& y = context.output(0);
  const std::vector<AxisPlan> plans =
      *plan_axes({attributes, context.input(0).shape(), y.shape(),
                  [&](std::size_t i) { return context.has(i) ? &context.input(i) : nullptr; }},
                 SIZE_MAX);
  const bool copies = attributes.string("mode", "nearest") == "nearest";
  const DType given = y.dtype();
  const DType type = copies || given == DType::f64 ? given : is_float(given) ? DType::f32 : DType::f64;
  Tensor work = to_dtype(context.input(0), type);
  visit_dtype(type, WholeByteTypes{}, [&]<typename T>(Tag<T>) {
    for (const AxisPlan& plan : plans) work = resample<T>(work, plan, context.threads());
    for (const AxisPlan& plan : plans) extrapolate<T>(work, plan, attributes.real("extrapolation_value", 0));
  });
  copy_tensor(work, y);
}

/// Allowed where the number of images stays the same.
static bool splits_resized(const Split& split) {
  const Value* scales = split.node.input(2);
  const Tensor* factors = scales ? scales->constant() : nullptr;
  return splits_first(split) && !split.node.input(3) && factors && factors->dtype() == DType::f32 &&
         !split.node.attributes.has("axes") &&
         factors->elements() == static_cast<std::int64_t>(split.node.input(0)->type.rank()) &&
         factors->as<float>()[0] == 1;
}

std::vector<OpDef> resize_ops() {
  return {OpDef{
      .name = "resize",
      .min_inputs = 1,
      .max_inputs = 4,
      .operands = {{"x", dtypes::floats | dtypes::integers | dtypes::booleans | dtypes::strings},
                   {"roi", dtypes::floats, 0, "_"},
                   {"scales", dtypes::floats, 0, "_"},
                   {"sizes", dtypes::integers, 0, "_"}},
      .attributes = {flag_attribute("antialias", false),
                     optional_attribute("axes", AttributeKind::integers, axis_range().counted(1, 64)),
                     string_attribute("coordinate_transformation_mode", "half_pixel",
                                      one_of({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                              "align_corners", "asymmetric", "tf_crop_and_resize"})),
                     real_attribute("cubic_coeff_a", -0.75, finite()),
                     flag_attribute("exclude_outside", false),
                     real_attribute("extrapolation_value", 0, finite()),
                     string_attribute("keep_aspect_ratio_policy", "stretch",
                                      one_of({"stretch", "not_larger", "not_smaller"})),
                     string_attribute("mode", "nearest", one_of({"nearest", "linear", "cubic"})),
                     string_attribute("nearest_mode", "round_prefer_floor",
                                      one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))},
      .infer = infer_resize,
      .reference = run_resize,
      .expand = {},
      .traits = {.pattern = Pattern::sampling,
                 .discontinuous = true,
                 .accumulates = true,
                 .split = splits_resized}}};
}

} // namespace lanner::ops
