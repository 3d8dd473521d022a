#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/definition/known_axes.h"
#include "ops/definition/narrowed.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/reduction/reduce_plan.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Axes and shapes.

/// The axes that a node reduces, or nothing while its second input is unknown.
static std::vector<std::size_t> reduced_axes(const AttributeMap& attributes,
                                             std::span<const std::int64_t> given, std::size_t rank) {
  if (!given.empty()) return resolve_axes(given, rank);
  std::vector<std::size_t> all;
  if (attributes.flag("noop_with_empty_axes")) return all;
  for (std::size_t i = 0; i < rank; ++i) all.push_back(i);
  return all;
}

static Type reduced_type(const Type& x, std::span<const std::size_t> axes, bool keep, DType dtype) {
  const std::vector<bool> reduced = reduced_flags(axes, x.rank());
  Dims dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!reduced[i])
      dims.push_back(x.dims()[i]);
    else if (keep)
      dims.push_back(Dim(1));
  }
  return Type(dtype, std::move(dims));
}

using FoldDims = Dim (*)(const Dim&, const Dim&);

// The fold of a small integer vector, for arithmetic that models do on shapes.
static void propagate_fold(InferContext& context, FoldDims fold) {
  const std::optional<Dims> elements = fold ? known_elements(context, 0) : std::nullopt;
  if (!elements || elements->empty() || context.input(0).rank() != 1) return;
  const bool keep = context.attributes().flag("keepdims", true);
  const Type type(context.input(0).dtype(), keep ? Dims{Dim(1)} : Dims{});
  unless_overflowing([&] {
    Dim folded = elements->front();
    for (std::size_t i = 1; i < elements->size(); ++i) folded = fold(folded, (*elements)[i]);
    set_known_elements(context, 0, type, {folded});
  });
}

static void infer_reduce(InferContext& context, FoldDims fold) {
  const Type& x = context.input(0);
  const bool keep = context.attributes().flag("keepdims", true), given = context.has(1);
  const std::size_t most = x.ranked() ? x.rank() : SIZE_MAX;
  const auto axes = given ? known_axes(context, 1, most) : std::vector<std::int64_t>{};
  if (!x.ranked() || (!axes && !keep)) return context.set_output(0, Type::unranked(x.dtype()));
  if (!axes) {
    Dims dims;
    for (const Dim& dim : x.dims()) dims.push_back(context.fresh("reduced", max(dim, Dim(1))));
    return context.set_output(0, x.with_dims(std::move(dims)));
  }
  const auto resolved = reduced_axes(context.attributes(), *axes, x.rank());
  context.set_output(0, reduced_type(x, resolved, keep, x.dtype()));
  if (resolved.size() == x.rank()) propagate_fold(context, fold);
}

// Elements of one result.

template<typename T>
struct Reduced {
  const T* data;
  std::span<const std::int64_t> offsets; ///< Of runs of `run` elements `stride` apart.
  std::int64_t run, stride;

  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()) * run; }
  template<typename Body>
  void each(Body&& body) const {
    for (const std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < run; ++i) body(data[offset + i * stride]);
  }
};

// Folds. Integers add and multiply modulo 2^64, and narrow to the correct value modulo their own size.

template<typename T>
using Folded = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template<typename T>
static T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(x < 0 ? Folded<T>{0} - static_cast<Folded<T>>(x) : static_cast<Folded<T>>(x));
  else
    return x;
}

template<typename T, typename Term>
static Folded<T> sum_of(const Reduced<T>& line, Term&& term) {
  Folded<T> sum = 0;
  line.each([&](T x) { sum += term(static_cast<Folded<T>>(x)); });
  return sum;
}

/// The folded value as a number, signed where T is.
template<typename T>
static double as_real(Folded<T> value) {
  if constexpr (std::is_signed_v<T> && !std::is_floating_point_v<T>)
    return static_cast<double>(static_cast<std::int64_t>(value));
  else
    return static_cast<double>(value);
}

struct SumFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    return static_cast<T>(sum_of(line, [](auto x) { return x; }));
  }
};
struct SumSquareFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    return static_cast<T>(sum_of(line, [](auto x) { return x * x; }));
  }
};
struct L1Fold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    Folded<T> sum = 0;
    line.each([&](T x) { sum += static_cast<Folded<T>>(magnitude(x)); });
    return static_cast<T>(sum);
  }
};
struct L2Fold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    return narrowed<T>(std::sqrt(as_real<T>(sum_of(line, [](auto x) { return x * x; }))));
  }
};
struct MeanFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    return narrowed<T>(as_real<T>(sum_of(line, [](auto x) { return x; })) /
                       static_cast<double>(line.count()));
  }
};
struct ProdFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    Folded<T> product = 1;
    line.each([&](T x) { product *= static_cast<Folded<T>>(x); });
    return static_cast<T>(product);
  }
};
struct LogSumFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    return narrowed<T>(std::log(as_real<T>(sum_of(line, [](auto x) { return x; }))));
  }
};
struct MaxFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    using Bounds = std::numeric_limits<T>;
    T most = Bounds::has_infinity ? static_cast<T>(-Bounds::infinity()) : Bounds::lowest();
    line.each([&](T x) { most = x > most || x != x ? x : most; });
    return most;
  }
};
struct MinFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    using Bounds = std::numeric_limits<T>;
    T least = Bounds::has_infinity ? Bounds::infinity() : Bounds::max();
    line.each([&](T x) { least = x < least || x != x ? x : least; });
    return least;
  }
};
struct LogSumExpFold {
  template<typename T>
  T operator()(const Reduced<T>& line) const {
    const double largest = static_cast<double>(MaxFold{}(line));
    if (std::isinf(largest)) return narrowed<T>(largest);
    double sum = 0;
    line.each([&](T x) { sum += std::exp(static_cast<double>(x) - largest); });
    return narrowed<T>(line.count() == 0 ? -std::numeric_limits<double>::infinity()
                                         : largest + std::log(sum));
  }
};

template<typename AllowedTypes, typename Fold>
static void run_reduce(KernelContext& context, AllowedTypes types, Fold fold) {
  const DType given = context.input(0).dtype(), type = is_float(given) ? compute_dtype(given) : given;
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const bool has_axes = context.has(1);
  const auto axes = has_axes ? read_integers(context.input(1), "axes") : std::vector<std::int64_t>{};
  const ReducePlan plan = plan_reduce(x.shape(), reduced_axes(context.attributes(), axes, x.rank()));
  visit_dtype(type, types, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), static_cast<std::int64_t>(plan.results.size()), [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      y.as<T>()[place] =
          fold(Reduced<T>{x.as<T>().data() + plan.results[place], plan.runs, plan.run, plan.stride});
    });
  });
  y.store();
}

using SumTypes = Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
using OrderTypes = decltype(join(SumTypes{}, Types<std::int8_t, std::uint8_t, bool>{}));

template<typename AllowedTypes, typename Fold>
static OpDef reduce_op(const char* name, AllowedTypes types, Fold fold, FoldDims fold_dims = nullptr) {
  return OpDef{
      .name = name,
      .min_inputs = 1,
      .max_inputs = 2,
      .operands = {{"x", dtypes::all_floats | dtypes::wide_integers |
                             (std::is_same_v<AllowedTypes, OrderTypes> ? dtypes::bytes | dtypes::booleans
                                                                       : DTypeSet())},
                   {"axes", dtypes::counts}},
      .attributes = {flag_attribute("keepdims", true), flag_attribute("noop_with_empty_axes", false)},
      .infer = [=](InferContext& context) { infer_reduce(context, fold_dims); },
      .reference = [=](KernelContext& context) { run_reduce(context, types, fold); },
      .expand = {},
      .traits = {.pattern = Pattern::reduction, .accumulates = true, .split = splits_beside_axes_of(1)}};
}

/// Traits of a reduction that returns one of its elements, or their mean.
static OpDef within_range(OpDef op, bool accumulates) {
  op.traits.range = preserved_range();
  op.traits.accumulates = accumulates;
  return op;
}

std::vector<OpDef> reduce_ops() {
  constexpr SumTypes numbers{};
  return {reduce_op("reduce_sum", numbers, SumFold{}, [](const Dim& a, const Dim& b) { return a + b; }),
          reduce_op("reduce_prod", numbers, ProdFold{}, [](const Dim& a, const Dim& b) { return a * b; }),
          within_range(reduce_op("reduce_max", OrderTypes{}, MaxFold{},
                                 [](const Dim& a, const Dim& b) { return max(a, b); }),
                       false),
          within_range(reduce_op("reduce_min", OrderTypes{}, MinFold{},
                                 [](const Dim& a, const Dim& b) { return min(a, b); }),
                       false),
          within_range(reduce_op("reduce_mean", numbers, MeanFold{}), true),
          reduce_op("reduce_l1", numbers, L1Fold{}),
          reduce_op("reduce_l2", numbers, L2Fold{}),
          reduce_op("reduce_sum_square", numbers, SumSquareFold{}),
          reduce_op("reduce_log_sum", numbers, LogSumFold{}),
          reduce_op("reduce_log_sum_exp", numbers, LogSumExpFold{})};
}

} // namespace lanner::ops
