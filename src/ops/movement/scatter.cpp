// Writes elements at indices: scatter_elements, scatter_nd, tensor_scatter.

#include <algorithm>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/strided.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// Combines `count` elements of `updates` into `out`, both of one dtype among ComputeTypes or bool.
using Reduce = void (*)(Tensor& out, std::int64_t at, const Tensor& updates, std::int64_t from,
                        std::int64_t count);

template<typename T, typename Function>
static void reduce_run(Tensor& out, std::int64_t at, const Tensor& updates, std::int64_t from,
                       std::int64_t count) {
  T* const target = out.as<T>().data() + at;
  const T* const source = updates.as<T>().data() + from;
  for (std::int64_t i = 0; i < count; ++i) target[i] = Function{}(target[i], source[i]);
}

static void replace_run(Tensor& out, std::int64_t at, const Tensor& updates, std::int64_t from,
                        std::int64_t count) {
  RunCopy(out.dtype())(out.data(), at, updates.data(), from, count);
}

static std::string reduction_of(const KernelContext& context) {
  return context.attributes().string("reduction", "none");
}

static Reduce choose_reduce(const std::string& reduction, DType type) {
  if (reduction == "none") return replace_run;
  Reduce result = nullptr;
  visit_dtype(type, decltype(join(ComputeTypes{}, Types<bool>{})){}, [&]<typename T>(Tag<T>) {
    if (reduction == "add") result = reduce_run<T, Add>;
    if (reduction == "mul") result = reduce_run<T, Multiply>;
    if (reduction == "max") result = reduce_run<T, Maximum>;
    if (reduction == "min") result = reduce_run<T, Minimum>;
  });
  check(result != nullptr, ErrorCode::invalid_argument,
        "reduction is \"{}\", expected \"none\", \"add\", \"mul\", \"max\" or \"min\"", reduction);
  return result;
}

/// Calls `scatter(out, updates, reduce)` with a copy of the data, in the type that the reduction computes in.
template<typename Scatter>
static void with_scatter(KernelContext& context, Scatter&& scatter) {
  const std::string reduction = reduction_of(context);
  const Tensor& data = context.input(0);
  const DType type = reduction == "none" ? data.dtype() : kernel_dtype(data.dtype());
  const Tensor initial = to_dtype(data, type), updates = to_dtype(context.input(2), type);
  through_dtype(context.output(0), type, [&](Tensor& out) {
    copy_elements(initial, out, context.threads());
    scatter(out, updates, choose_reduce(reduction, type));
  });
}

static void infer_scatter(InferContext& context) {
  constexpr DTypeSet combined = dtypes::numbers | dtypes::booleans;
  const std::string reduction = context.attributes().string("reduction", "none");
  check(reduction == "none" || combined.has(context.input(0).dtype()), ErrorCode::invalid_argument,
        "reduction \"{}\" of {}, expected {}", reduction, to_string(context.input(0).dtype()),
        combined.to_string());
  check(context.input(2).dtype() == context.input(0).dtype(), ErrorCode::invalid_argument,
        "updates are {}, expected {} as the data is", to_string(context.input(2).dtype()),
        to_string(context.input(0).dtype()));
  context.set_output(0, context.input(0));
}

static void infer_scatter_elements(InferContext& context) {
  infer_scatter(context);
  if (!context.input(0).ranked()) return;
  const std::size_t rank = context.input(0).rank();
  require_rank(context, 1, rank);
  require_rank(context, 2, rank);
  resolve_axis(context.attributes().integer("axis", 0), rank);
}

namespace {

/// Indices as i64, without a copy where they are stored so.
class IndexList {
public:
  explicit IndexList(const Tensor& indices) {
    if (indices.dtype() == DType::i64)
      all_ = indices.as<std::int64_t>();
    else
      all_ = read_ = read_integers(indices, "indices");
  }
  IndexList(const IndexList&) = delete;
  IndexList& operator=(const IndexList&) = delete;
  std::span<const std::int64_t> all() const { return all_; }

private:
  std::vector<std::int64_t> read_;
  std::span<const std::int64_t> all_;
};

/// Sizes of the updates and strides of the data, with dims after the axis merged where they are contiguous in
/// both.
struct UpdateLines {
  UpdateLines(const Shape& data, const Shape& updates, std::size_t axis)
      : sizes(updates.dims()), strides(dense_strides(data)) {
    while (sizes.size() > axis + 2 && updates[sizes.size() - 1] == data[sizes.size() - 1]) {
      const std::int64_t size = sizes.back();
      sizes.pop_back();
      strides.pop_back();
      sizes.back() *= size;
      strides.back() = 1;
    }
  }
  std::vector<std::int64_t> sizes, strides;
};

} // namespace

static void run_scatter_elements(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const Shape& updates_shape = context.input(2).shape();
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), shape.rank());
  check(context.input(1).shape() == updates_shape, ErrorCode::invalid_argument,
        "scatter_elements: indices of shape {}, updates of shape {}", context.input(1).shape().to_string(),
        updates_shape.to_string());
  for (std::size_t d = 0; d < shape.rank(); ++d)
    check(d == axis || updates_shape[d] <= shape[d], ErrorCode::invalid_argument,
          "scatter_elements: updates of shape {} exceed data of shape {}", updates_shape.to_string(),
          shape.to_string());
  const IndexList list(context.input(1));
  const std::span<const std::int64_t> indices = list.all();
  const UpdateLines lines(shape, updates_shape, axis);
  with_scatter(context, [&](Tensor& out, const Tensor& updates, Reduce reduce) {
    std::vector<std::int64_t> position(lines.sizes.size());
    const auto offset_of = [&](std::size_t i) {
      std::int64_t at = resolve_index(indices[i], shape[axis]) * lines.strides[axis];
      for (std::size_t d = 0; d < position.size(); ++d)
        if (d != axis) at += position[d] * lines.strides[d];
      return at;
    };
    for (std::size_t i = 0; i < indices.size();) {
      // Consecutive elements along the last dim with the same index are written together.
      const std::int64_t at = offset_of(i);
      std::int64_t run = 1;
      const bool along = axis + 1 != shape.rank() && !position.empty();
      while (along && position.back() + run < lines.sizes.back() &&
             indices[i + static_cast<std::size_t>(run)] == indices[i])
        ++run;
      reduce(out, at, updates, static_cast<std::int64_t>(i), run);
      i += static_cast<std::size_t>(run);
      if (!position.empty()) position.back() += run - 1;
      for (std::size_t d = position.size(); d-- > 0;) {
        if (++position[d] < lines.sizes[d]) break;
        position[d] = 0;
      }
    }
  });
}

/// The updates' shape that follows from the data and the indices.
static Shape expected_updates(const Shape& data, const Shape& indices) {
  check(indices.rank() >= 1 && indices.back() >= 0 &&
            indices.back() <= static_cast<std::int64_t>(data.rank()),
        ErrorCode::invalid_argument, "scatter_nd: indices of shape {} into data of shape {}",
        indices.to_string(), data.to_string());
  Shape expected;
  for (std::size_t d = 0; d + 1 < indices.rank(); ++d) expected.push_back(indices[d]);
  for (auto d = static_cast<std::size_t>(indices.back()); d < data.rank(); ++d) expected.push_back(data[d]);
  return expected;
}

static void run_scatter_nd(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const Shape expected = expected_updates(shape, context.input(1).shape());
  check(context.input(2).shape() == expected, ErrorCode::invalid_argument,
        "scatter_nd: updates of shape {}, expected {}", context.input(2).shape().to_string(),
        expected.to_string());
  const IndexList list(context.input(1));
  const std::span<const std::int64_t> indices = list.all();
  const std::vector<std::int64_t> strides = dense_strides(shape);
  const auto depth = static_cast<std::size_t>(context.input(1).shape().back());
  with_scatter(context, [&](Tensor& out, const Tensor& updates, Reduce reduce) {
    if (updates.elements() == 0) return;
    const std::int64_t run = depth == 0 ? out.elements() : strides[depth - 1];
    const std::int64_t tuples = updates.elements() / run;
    for (std::int64_t i = 0; i < tuples; ++i) {
      std::int64_t at = 0;
      for (std::size_t k = 0; k < depth; ++k)
        at += resolve_index(indices[static_cast<std::size_t>(i) * depth + k], shape[k]) * strides[k];
      reduce(out, at, updates, i * run, run);
    }
  });
}

static void infer_tensor_scatter(InferContext& context) {
  check(context.input(1).dtype() == context.input(0).dtype(), ErrorCode::invalid_argument,
        "tensor_scatter: update is {}, expected {} as the cache is", to_string(context.input(1).dtype()),
        to_string(context.input(0).dtype()));
  context.set_output(0, context.input(0));
  if (context.input(0).ranked()) require_rank(context, 1, context.input(0).rank());
}

/// Element (o, t, i) of the update goes to (o, start of o's batch + t, i) of the cache.
static void run_tensor_scatter(KernelContext& context) {
  const Tensor &cache = context.input(0), &update = context.input(1);
  Tensor& out = context.output(0);
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", -2), cache.rank());
  const bool circular = context.attributes().string("mode", "linear") == "circular";
  check(axis != 0, ErrorCode::invalid_argument, "tensor_scatter: axis 0 is the batch, expected another");
  const AxisView into = view_axis(cache.shape(), axis), from = view_axis(update.shape(), axis);
  const std::int64_t batches = cache.shape()[0];
  CountedVector<std::int64_t> starts(static_cast<std::size_t>(batches), 0);
  if (context.has(2)) {
    const std::vector<std::int64_t> given = read_integers(context.input(2), "write_indices");
    starts.assign(given.begin(), given.end());
  }
  check(from.outer == into.outer && from.inner == into.inner &&
            starts.size() == static_cast<std::size_t>(batches),
        ErrorCode::invalid_argument,
        "tensor_scatter: update of shape {} with {} write indices into a cache of shape {}",
        update.shape().to_string(), starts.size(), cache.shape().to_string());
  copy_elements(cache, out, context.threads());
  if (update.elements() == 0) return;
  const RunCopy copy_run(out.dtype());
  for (std::int64_t outer = 0; outer < into.outer; ++outer) {
    const std::int64_t start = starts[static_cast<std::size_t>(outer / (into.outer / batches))];
    check(start >= 0 && from.size <= into.size && (circular || start <= into.size - from.size),
          ErrorCode::invalid_argument, "tensor_scatter: {} steps from {} do not fit a cache of {}", from.size,
          start, into.size);
    for (std::int64_t t = 0; t < from.size; ++t) {
      const std::int64_t place = (start % into.size + t) % into.size;
      copy_run(out.data(), (outer * into.size + place) * into.inner, update.data(),
               (outer * from.size + t) * into.inner, into.inner);
    }
  }
}

static OpDef scatter_op(std::string name, std::vector<AttributeSpec> attributes, void (*infer)(InferContext&),
                        void (*run)(KernelContext&)) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = op.max_inputs = 3;
  op.operands = {{"data", dtypes::any, 'T'}, {"indices", dtypes::counts}, {"updates", dtypes::any, 'T'}};
  op.attributes = std::move(attributes);
  op.traits = {.pattern = Pattern::movement, .accumulates = true};
  op.infer = infer;
  op.reference = run;
  return op;
}

std::vector<OpDef> scatter_ops() {
  const AttributeSpec reduction =
      string_attribute("reduction", "none", one_of({"none", "add", "mul", "max", "min"}));
  OpDef tensor_scatter = scatter_op("tensor_scatter",
                                    {integer_attribute("axis", -2, axis_range()),
                                     string_attribute("mode", "linear", one_of({"linear", "circular"}))},
                                    infer_tensor_scatter, run_tensor_scatter);
  tensor_scatter.min_inputs = 2;
  tensor_scatter.operands = {
      {"cache", dtypes::any, 'T'}, {"update", dtypes::any, 'T'}, {"write_indices", dtypes::counts}};
  OpDef elements = scatter_op("scatter_elements", {integer_attribute("axis", 0, axis_range()), reduction},
                              infer_scatter_elements, run_scatter_elements);
  elements.traits.index_input = 1;
  return {std::move(elements), scatter_op("scatter_nd", {reduction}, infer_scatter, run_scatter_nd),
          tensor_scatter};
}

} // namespace lanner::ops
