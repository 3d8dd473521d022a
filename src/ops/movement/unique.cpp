#include <algorithm>
#include <numeric>

#include "base/limits/counted_vector.h"
#include "base/limits/paced_deadline.h"
#include "ops/definition/strided.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_unique(InferContext& context) {
  const Type& input = context.input(0);
  const bool along = context.attributes().has("axis");
  Type values = input;
  Dim most(INT64_MAX);
  if (input.ranked()) {
    const std::size_t axis = along ? resolve_axis(context.attributes().integer("axis", 0), input.rank()) : 0;
    most = along ? input.dims()[axis] : product(input.dims());
    const Dim count = context.fresh("unique", most);
    Dims dims = along ? input.dims() : Dims{count};
    if (along) dims[axis] = count;
    values = input.with_dims(dims);
    for (const std::size_t i : {1u, 3u}) context.set_output(i, Type(DType::i64, Dims{count}));
  } else {
    const Dim count = context.fresh("unique", most);
    if (!along) values = input.with_dims({count});
    for (const std::size_t i : {1u, 3u}) context.set_output(i, Type(DType::i64, Dims{count}));
    most = context.fresh("unique_from", most);
  }
  context.set_output(0, values);
  context.set_output(2, Type(DType::i64, Dims{most}));
}

namespace {

/// The slices of an array along one axis, compared element by element.
template<typename T>
struct Slices {
  std::span<const T> elements;
  AxisView view;

  /// Negative, zero or positive if slice a comes before, equals or comes after slice b.
  int compare(std::int64_t a, std::int64_t b) const {
    if (elements.empty()) return 0; // The outer dims may have any size.
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      for (std::int64_t inner = 0; inner < view.inner; ++inner) {
        const T& x = elements[static_cast<std::size_t>((outer * view.size + a) * view.inner + inner)];
        const T& y = elements[static_cast<std::size_t>((outer * view.size + b) * view.inner + inner)];
        if (x < y) return -1;
        if (y < x) return 1;
        // NaN sorts after every number, and each NaN is a distinct value.
        if (!(x == y)) return x == x ? -1 : y == y ? 1 : a < b ? -1 : a > b;
      }
    }
    return 0;
  }
};

struct Groups {
  CountedVector<std::int64_t> first;   ///< For each group, the first slice in it.
  CountedVector<std::int64_t> inverse; ///< For each slice, its group.
  CountedVector<std::int64_t> counts;
};

/// Groups sorted by value.
template<typename T>
Groups group_slices(const Slices<T>& slices) {
  CountedVector<std::int64_t> order(static_cast<std::size_t>(slices.view.size));
  std::iota(order.begin(), order.end(), 0);
  PacedDeadline look;
  const auto steps = std::max<std::uint64_t>(
      static_cast<std::uint64_t>(slices.view.outer) * static_cast<std::uint64_t>(slices.view.inner), 1);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    look(steps);
    return slices.compare(a, b) < 0;
  });
  Groups groups;
  groups.inverse.resize(order.size());
  for (const std::int64_t slice : order) {
    look(steps);
    if (groups.first.empty() || slices.compare(groups.first.back(), slice) != 0) {
      groups.first.push_back(slice);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

} // namespace

/// Renumbers groups by first occurrence.
static void order_by_occurrence(Groups& groups) {
  CountedVector<std::size_t> order(groups.first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  PacedDeadline look;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    look();
    return groups.first[a] < groups.first[b];
  });
  Groups sorted;
  CountedVector<std::int64_t> renumbered(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.first.push_back(groups.first[order[i]]);
    sorted.counts.push_back(groups.counts[order[i]]);
    renumbered[order[i]] = static_cast<std::int64_t>(i);
  }
  for (const std::int64_t group : groups.inverse)
    sorted.inverse.push_back(renumbered[static_cast<std::size_t>(group)]);
  groups = std::move(sorted);
}

static void store_integers(KernelContext& context, std::size_t i, const CountedVector<std::int64_t>& values) {
  if (i >= context.outputs()) return;
  Tensor& out = context.allocate(i, DType::i64, Shape{static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, out.as<std::int64_t>().begin());
}

static void run_unique(KernelContext& context) {
  const Tensor& input = context.input(0);
  const bool along = context.attributes().has("axis");
  const std::size_t axis = along ? resolve_axis(context.attributes().integer("axis", 0), input.rank()) : 0;
  const AxisView view = along ? view_axis(input.shape(), axis) : AxisView{1, input.elements(), 1};
  const DType type = kernel_dtype(input.dtype());
  const Tensor x = to_dtype(input, type);
  Groups groups;
  visit_dtype(type, decltype(join(ComputeTypes{}, Types<bool, std::string>{})){}, [&]<typename T>(Tag<T>) {
    groups = group_slices(Slices<T>{x.as<T>(), view});
  });
  if (!context.attributes().flag("sorted", true)) order_by_occurrence(groups);
  Shape shape = along ? input.shape() : Shape{0};
  shape[axis] = static_cast<std::int64_t>(groups.first.size());
  Tensor& out = context.allocate(0, input.dtype(), shape);
  const RunCopy copy_run(input.dtype());
  const std::int64_t outers = out.elements() == 0 ? 0 : view.outer;
  std::int64_t at = 0;
  for (std::int64_t outer = 0; outer < outers; ++outer) {
    for (const std::int64_t slice : groups.first) {
      copy_run(out.data(), at, input.data(), (outer * view.size + slice) * view.inner, view.inner);
      at += view.inner;
    }
  }
  store_integers(context, 1, groups.first);
  store_integers(context, 2, groups.inverse);
  store_integers(context, 3, groups.counts);
}

std::vector<OpDef> unique_ops() {
  OpDef op;
  op.name = "unique";
  op.min_inputs = op.max_inputs = 1;
  op.max_outputs = 4;
  op.operands = {{"x", dtypes::numbers | dtypes::booleans | dtypes::strings}};
  op.attributes = {optional_attribute("axis", AttributeKind::integer, axis_range()),
                   flag_attribute("sorted", true)};
  op.infer = infer_unique;
  op.reference = run_unique;
  op.traits = {.pattern = Pattern::selection, .discontinuous = true};
  return {op};
}

} // namespace lanner::ops
