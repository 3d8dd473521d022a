#include <algorithm>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.

static void infer_rotary(InferContext& context) {
  const Type& x = context.input(0);
  infer_like(context);
  if (!x.ranked()) return;
  check(x.rank() == 3 || x.rank() == 4, ErrorCode::invalid_argument, "input is {}, expected rank 3 or 4",
        x.to_string());
  if (x.rank() == 4) return;
  const std::int64_t heads = context.attributes().integer("num_heads", 0);
  check(heads >= 1, ErrorCode::invalid_argument,
        "num_heads is {}, expected at least 1 with an input of rank 3", heads);
  require_equal(mod(x.dims()[2], heads), 0, "the remainder of the hidden size over num_heads");
}

struct RotaryShape {
  std::int64_t batch, heads, length, size, rotated;
  bool heads_first;
  std::int64_t row(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return heads_first ? (b * heads + h) * length + s : (b * length + s) * heads + h;
  }
};

static RotaryShape rotary_shape(const KernelContext& context) {
  const Shape& x = context.input(0).shape();
  const bool split = x.rank() == 4;
  const std::int64_t heads = split ? x[1] : context.attributes().integer("num_heads", 0);
  RotaryShape shape{x[0], heads, split ? x[2] : x[1], split ? x[3] : x[2] / heads, 0, split};
  shape.rotated = context.attributes().integer("rotary_embedding_dim", 0);
  if (shape.rotated == 0) shape.rotated = shape.size;
  check(shape.rotated >= 0 && shape.rotated <= shape.size && shape.rotated % 2 == 0,
        ErrorCode::invalid_argument, "{} of {} elements are to be rotated, expected an even number of them",
        shape.rotated, shape.size);
  return shape;
}

/// For each batch row and position, the row of the caches.
static std::vector<std::int64_t> cache_rows(const KernelContext& context, const RotaryShape& shape) {
  const Shape &cos = context.input(1).shape(), &sin = context.input(2).shape();
  const bool by_position = context.has(3);
  check(cos == sin && cos.rank() == (by_position ? 2 : 3) && cos.back() == shape.rotated / 2,
        ErrorCode::invalid_argument, "caches have shapes {} and {}, expected rank {} with {} columns",
        cos.to_string(), sin.to_string(), by_position ? 2 : 3, shape.rotated / 2);
  const std::int64_t count = shape.batch * shape.length;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  if (by_position) rows = read_integers(context.input(3), "position_ids");
  const std::int64_t bound = by_position ? cos[0] : cos[0] * cos[1];
  check(static_cast<std::int64_t>(rows.size()) == count && (by_position || bound == count),
        ErrorCode::invalid_argument, "{} positions and caches of shape {} for {} tokens", rows.size(),
        cos.to_string(), count);
  for (const std::int64_t row : rows)
    check(row >= 0 && row < bound, ErrorCode::invalid_argument, "position {} is out of range for {} rows",
          row, bound);
  return rows;
}

static void run_rotary(KernelContext& context) {
  WideOutput y(context.output(0));
  const DType type = compute_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type), cos = to_dtype(context.input(1), type);
  const Tensor sin = to_dtype(context.input(2), type);
  const RotaryShape shape = rotary_shape(context);
  const std::vector<std::int64_t> rows = cache_rows(context, shape);
  const bool interleaved = context.attributes().flag("interleaved");
  const std::int64_t half = shape.rotated / 2, step = interleaved ? 2 : 1, apart = interleaved ? 1 : half;
  visit_compute(type, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), shape.batch * shape.length * shape.heads, [&](std::int64_t i) {
      const std::int64_t token = i / shape.heads, h = i % shape.heads;
      const std::int64_t row = shape.row(token / shape.length, h, token % shape.length);
      const T* in = x.as<T>().data() + row * shape.size;
      T* out = y.as<T>().data() + row * shape.size;
      const std::int64_t cache = rows[static_cast<std::size_t>(token)] * half;
      for (std::int64_t k = 0; k < half; ++k) {
        const T c = cos.as<T>()[static_cast<std::size_t>(cache + k)],
                s = sin.as<T>()[static_cast<std::size_t>(cache + k)];
        const T first = in[k * step], second = in[k * step + apart];
        out[k * step] = c * first - s * second;
        out[k * step + apart] = s * first + c * second;
      }
      std::copy(in + shape.rotated, in + shape.size, out + shape.rotated);
    });
  });
  y.store();
}

std::vector<OpDef> rotary_embedding_ops() {
  return {OpDef{.name = "rotary_embedding",
                .min_inputs = 3,
                .max_inputs = 4,
                .operands = {{"x", dtypes::floats, 'T'},
                             {"cos_cache", dtypes::floats, 'T'},
                             {"sin_cache", dtypes::floats, 'T'},
                             {"position_ids", dtypes::counts}},
                .attributes = {flag_attribute("interleaved", false),
                               optional_attribute("num_heads", AttributeKind::integer, between(0, INT32_MAX)),
                               integer_attribute("rotary_embedding_dim", 0, between(0, INT32_MAX))},
                .infer = infer_rotary,
                .reference = run_rotary,
                .expand = {},
                .traits = of_pattern(Pattern::composite)}};
}

} // namespace lanner::ops
