#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/convolution/window.h"
#include "ops/definition/bounds.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Pooling over windows: max_pool, average_pool and lp_pool.

static void infer_pool(InferContext& context) {
  const Type& x = context.input(0);
  const std::vector<std::int64_t> kernel = context.attributes().integers("kernel_shape");
  for (const std::int64_t size : kernel) require_within("kernel_shape", size, 1, largest_window_size);
  require_rank(context, 0, kernel.size() + 2);
  const auto window = WindowAttributes::read(context.attributes(), kernel.size());
  Type result = Type::unranked(x.dtype());
  if (x.ranked()) {
    Dims dims{x.dims()[0], x.dims()[1]};
    const Dims sizes(kernel.begin(), kernel.end());
    for (Dim& size : window_positions(window, std::span(x.dims()).subspan(2), sizes))
      dims.push_back(std::move(size));
    result = Type(x.dtype(), std::move(dims));
  }
  if (context.outputs() > 1) context.set_output(1, result.with_dtype(DType::i64));
  context.set_output(0, std::move(result));
}

static Window pool_window(const AttributeMap& attributes, const Shape& x, const Shape& y) {
  const auto spatial = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
  const auto window = WindowAttributes::read(attributes, x.rank() - 2);
  return resolve_window(window, spatial(x), spatial(y), attributes.integers("kernel_shape"));
}

/// Calls `step(accumulated, input, input_offset, output_offset)` for each element of each window; offsets are
/// relative to the plane.
template<typename T, typename Step>
static void fold_windows(const Window& window, const T* in, T* out, Step&& step) {
  const std::int64_t stride = window.strides.back();
  for_each_tap(window, [&](std::int64_t, std::span<const std::int64_t> tap) {
    for_each_run(window, tap, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        step(out[to + i], in[from + i * stride], from + i * stride, to + i);
    });
  });
}

// storage_order 1 counts a position inside a plane in column-major order.
static CountedVector<std::int64_t> column_major_numbers(const std::vector<std::int64_t>& sizes) {
  CountedVector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(Window::product_of(sizes)));
  std::vector<std::int64_t> index(sizes.size(), 0);
  do {
    std::int64_t number = 0;
    for (std::size_t d = sizes.size(); d-- > 0;) number = number * sizes[d] + index[d];
    numbers.push_back(number);
  } while (next_index(index, sizes));
  return numbers;
}

template<typename T>
static constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                 : std::numeric_limits<T>::lowest();

/// Whether `value` replaces `most`: NaN is the largest of its window, the first of equals stays.
template<typename T>
static bool exceeds(T value, T most) {
  return value > most || (value != value && most == most);
}

template<typename T>
static void max_pool(KernelContext& context, const Window& window, std::span<const T> x, std::span<T> y) {
  const std::int64_t image = window.image_elements(), plane = window.position_count();
  const std::int64_t planes = plane == 0 ? 0 : static_cast<std::int64_t>(y.size()) / plane;
  std::int64_t* indices =
      context.outputs() > 1 && context.wanted(1) ? context.output(1).as<std::int64_t>().data() : nullptr;
  CountedVector<std::int64_t> numbers;
  if (indices && context.attributes().flag("storage_order")) numbers = column_major_numbers(window.image);
  for_each_row(context.threads(), planes, [&](std::int64_t p) {
    T* out = y.data() + p * plane;
    std::fill_n(out, plane, lowest<T>);
    constexpr std::int64_t none =
        -1; // The first element of a window always becomes the largest, even the smallest number.
    CountedVector<std::int64_t> best(indices ? static_cast<std::size_t>(plane) : 0, none);
    fold_windows(window, x.data() + p * image, out,
                 [&](T& most, T value, std::int64_t from, std::int64_t to) {
                   const auto place = static_cast<std::size_t>(to);
                   const bool first = indices && best[place] == none;
                   if (!first && !exceeds(value, most)) return;
                   most = value;
                   if (indices) best[place] = from;
                 });
    for (std::size_t i = 0; i < best.size(); ++i) {
      const std::int64_t place = std::max<std::int64_t>(best[i], 0);
      const std::int64_t number = numbers.empty() ? place : numbers[static_cast<std::size_t>(place)];
      indices[p * plane + static_cast<std::int64_t>(i)] = p * image + number;
    }
  });
}

static void run_max_pool(KernelContext& context) {
  const DType given = context.output(0).dtype();
  const DType type = is_float(given) ? compute_dtype(given) : given;
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const Window window = pool_window(context.attributes(), x.shape(), context.output(0).shape());
  visit_dtype(type, Types<float, double, std::int8_t, std::uint8_t>{},
              [&]<typename T>(Tag<T>) { max_pool<T>(context, window, x.as<T>(), y.as<T>()); });
  y.store();
}

/// The number of taps inside the image for each position along one axis.
static CountedVector<double> axis_window_sizes(const Window& window, std::size_t axis) {
  const std::int64_t dilation = window.dilations[axis], last = window.kernel[axis] - 1;
  CountedVector<double> sizes;
  sizes.reserve(static_cast<std::size_t>(window.positions[axis]));
  for (std::int64_t p = 0; p < window.positions[axis]; ++p) {
    const std::int64_t begin = p * window.strides[axis] - window.begin[axis]; // of the window in the image
    const std::int64_t first = begin >= 0 ? 0 : (-begin + dilation - 1) / dilation;
    const std::int64_t room = window.image[axis] - 1 - begin;
    const std::int64_t end = room < 0 ? 0 : std::min(room / dilation, last) + 1;
    sizes.push_back(static_cast<double>(std::max<std::int64_t>(end - first, 0)));
  }
  return sizes;
}

// Number of elements that each window averages over. With padding counted, the padded image is used.
static CountedVector<double> window_sizes(Window window, bool count_padding) {
  if (count_padding) {
    for (std::size_t d = 0; d < window.image.size(); ++d) {
      window.image[d] += window.begin[d] + window.end[d];
      window.begin[d] = 0;
    }
  }
  CountedVector<double> sizes(1, 1.0);
  for (std::size_t d = 0; d < window.image.size(); ++d) {
    const CountedVector<double> axis = axis_window_sizes(window, d);
    CountedVector<double> larger;
    larger.reserve(sizes.size() * axis.size());
    for (const double outer : sizes)
      for (const double inner : axis) larger.push_back(outer * inner);
    sizes = std::move(larger);
  }
  return sizes;
}

/// Sums `term(x)` over each window and passes the sum through `finish(sum, position)`.
template<typename T, typename Term, typename Finish>
static void sum_pool(KernelContext& context, const Window& window, Term&& term, Finish&& finish) {
  WideOutput y(context.output(0));
  const Tensor x = to_dtype(context.input(0), dtype_of<T>());
  const std::int64_t image = window.image_elements(), plane = window.position_count();
  const std::int64_t planes = plane == 0 ? 0 : context.output(0).elements() / plane;
  for_each_row(context.threads(), planes, [&](std::int64_t p) {
    T* out = y.as<T>().data() + p * plane;
    std::fill_n(out, plane, T{0});
    fold_windows(window, x.as<T>().data() + p * image, out,
                 [&](T& sum, T value, std::int64_t, std::int64_t) { sum += term(value); });
    for (std::int64_t i = 0; i < plane; ++i) out[i] = finish(out[i], i);
  });
  y.store();
}

static void run_average_pool(KernelContext& context) {
  const Tensor& y = context.output(0);
  const Window window = pool_window(context.attributes(), context.input(0).shape(), y.shape());
  if (y.elements() == 0) return; // There may be any number of positions along an axis.
  const CountedVector<double> sizes = window_sizes(window, context.attributes().flag("count_include_pad"));
  visit_compute(y.dtype(), [&]<typename T>(Tag<T>) {
    sum_pool<T>(
        context, window, [](T x) { return x; },
        [&](T sum, std::int64_t i) { return sum / static_cast<T>(sizes[static_cast<std::size_t>(i)]); });
  });
}

static double norm_order(const AttributeMap& attributes) {
  const std::int64_t p = attributes.integer("p", 2);
  check(p >= 1, ErrorCode::invalid_argument, "p is {}, expected at least 1", p);
  return static_cast<double>(p);
}

static void run_lp_pool(KernelContext& context) {
  const Tensor& y = context.output(0);
  const Window window = pool_window(context.attributes(), context.input(0).shape(), y.shape());
  const double p = norm_order(context.attributes());
  visit_compute(y.dtype(), [&]<typename T>(Tag<T>) {
    const T order = static_cast<T>(p);
    sum_pool<T>(
        context, window, [=](T x) { return std::pow(std::abs(x), order); },
        [=](T sum, std::int64_t) { return std::pow(sum, 1 / order); });
  });
}

// Pooling over whole planes.

static void infer_global_pool(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return infer_like(context);
  check(x.rank() >= 2, ErrorCode::invalid_argument, "input is {}, expected rank 2 or more", x.to_string());
  Dims dims(x.rank(), Dim(1));
  dims[0] = x.dims()[0];
  dims[1] = x.dims()[1];
  context.set_output(0, x.with_dims(std::move(dims)));
}

/// Folds each plane from `start` by `step(accumulated, x)` in double, then `finish(accumulated, count)`.
template<typename Step, typename Finish>
static void run_global_pool(KernelContext& context, double start, Step&& step, Finish&& finish) {
  WideOutput y(context.output(0));
  const Tensor& input = context.input(0);
  visit_compute(input.dtype(), [&]<typename T>(Tag<T>) {
    const Tensor x = to_dtype(input, dtype_of<T>());
    const std::int64_t planes = context.output(0).elements();
    const std::int64_t count = planes == 0 ? 0 : x.elements() / planes;
    for_each_row(context.threads(), planes, [&](std::int64_t p) {
      double folded = start;
      for (const T value :
           x.as<T>().subspan(static_cast<std::size_t>(p * count), static_cast<std::size_t>(count)))
        folded = step(folded, static_cast<double>(value));
      y.as<T>()[static_cast<std::size_t>(p)] = static_cast<T>(finish(folded, static_cast<double>(count)));
    });
  });
  y.store();
}

static void run_global_average_pool(KernelContext& context) {
  run_global_pool(
      context, 0, [](double sum, double x) { return sum + x; },
      [](double sum, double count) { return sum / count; });
}

static void run_global_max_pool(KernelContext& context) {
  run_global_pool(
      context, lowest<double>, [](double most, double x) { return exceeds(x, most) ? x : most; },
      [](double most, double) { return most; });
}

static void run_global_lp_pool(KernelContext& context) {
  const double p = norm_order(context.attributes());
  run_global_pool(
      context, 0, [=](double sum, double x) { return sum + std::pow(std::abs(x), p); },
      [=](double sum, double) { return std::pow(sum, 1 / p); });
}

/// Traits of pools whose results are sums; others override them.
static Traits sums_of_images() {
  return {.pattern = Pattern::window, .accumulates = true, .per_image = true, .split = splits_images};
}

/// Traits of a pool that returns one of its elements, or their mean.
static OpDef within_range(OpDef pool, bool accumulates) {
  pool.traits.range = preserved_range();
  pool.traits.accumulates = accumulates;
  return pool;
}

static OpDef window_pool(std::string name, DTypeSet types, std::vector<AttributeSpec> own,
                         std::function<void(KernelContext&)> kernel) {
  std::vector<AttributeSpec> attributes = window_attribute_specs();
  attributes.push_back(
      required_attribute("kernel_shape", AttributeKind::integers, window_range(1).counted(1, 64)));
  attributes.push_back(flag_attribute("ceil_mode", false));
  attributes.insert(attributes.end(), own.begin(), own.end());
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {{"x", types, 0, "N C _ ..."}},
               .attributes = std::move(attributes),
               .infer = infer_pool,
               .reference = std::move(kernel),
               .expand = {},
               .traits = sums_of_images()};
}

static OpDef global_pool(std::string name, std::vector<AttributeSpec> own,
                         std::function<void(KernelContext&)> kernel) {
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {{"x", dtypes::floats, 0, "N C ..."}},
               .attributes = std::move(own),
               .infer = infer_global_pool,
               .reference = std::move(kernel),
               .expand = {},
               .traits = sums_of_images()};
}

std::vector<OpDef> pool_ops() {
  OpDef max_pool = window_pool("max_pool", dtypes::floats | dtypes::bytes,
                               {flag_attribute("storage_order", false)}, run_max_pool);
  max_pool.max_outputs = 2;
  return {
      within_range(std::move(max_pool), false),
      within_range(window_pool("average_pool", dtypes::floats, {flag_attribute("count_include_pad", false)},
                               run_average_pool),
                   true),
      window_pool("lp_pool", dtypes::floats, {integer_attribute("p", 2, between(1, INT32_MAX))}, run_lp_pool),
      within_range(global_pool("global_average_pool", {}, run_global_average_pool), true),
      within_range(global_pool("global_max_pool", {}, run_global_max_pool), false),
      global_pool("global_lp_pool", {integer_attribute("p", 2, between(1, INT32_MAX))}, run_global_lp_pool)};
}

} // namespace lanner::ops
