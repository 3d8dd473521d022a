#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Linear attention with a state that each token updates: Yang et al., "Gated Delta Networks", 2024, and its
// special cases.

namespace {
enum Input : std::size_t { query, key, value, past_state, decay, beta };
}

struct UpdateRule {
  bool gated, delta;

  static UpdateRule read(const AttributeMap& attributes) {
    const std::string rule = attributes.string("update_rule", "gated_delta");
    check(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
          ErrorCode::invalid_argument, "update_rule is \"{}\", expected linear, gated, delta or gated_delta",
          rule);
    return {rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"};
  }
};

struct HeadCounts {
  std::int64_t query, kv;

  static HeadCounts read(const AttributeMap& attributes) {
    const HeadCounts heads{attributes.get<std::int64_t>("q_num_heads"),
                           attributes.get<std::int64_t>("kv_num_heads")};
    check(heads.kv >= 1 && heads.query >= heads.kv && heads.query % heads.kv == 0,
          ErrorCode::invalid_argument, "{} query heads over {} key heads: expected a multiple", heads.query,
          heads.kv);
    return heads;
  }
};

static void infer_linear_attention(InferContext& context) {
  const HeadCounts heads = HeadCounts::read(context.attributes());
  const UpdateRule rule = UpdateRule::read(context.attributes());
  check(!rule.gated || context.has(decay), ErrorCode::invalid_argument,
        "decay is missing, which the update rule requires");
  check(!rule.delta || context.has(beta), ErrorCode::invalid_argument,
        "beta is missing, which the update rule requires");
  const Type &q = context.input(query), &k = context.input(key), &v = context.input(value);
  for (std::size_t i : {query, key, value}) require_rank(context, i, 3);
  const DType state = context.has(past_state) ? context.input(past_state).dtype() : q.dtype();
  if (!q.ranked() || !k.ranked() || !v.ranked()) {
    context.set_output(0, Type::unranked(q.dtype()));
    return context.set_output(1, Type::unranked(state));
  }
  const Dim key_size = floor_div(q.dims()[2], heads.query), value_size = floor_div(v.dims()[2], heads.kv);
  for (std::size_t d : {0, 1}) {
    require_equal(k.dims()[d], q.dims()[d], "a size of the key");
    require_equal(v.dims()[d], q.dims()[d], "a size of the value");
  }
  require_equal(q.dims()[2], key_size * heads.query, "the query's last size");
  require_equal(k.dims()[2], key_size * heads.kv, "the key's last size");
  require_equal(v.dims()[2], value_size * heads.kv, "the value's last size");
  if (context.has(past_state) && context.input(past_state).ranked()) {
    const Dims wanted{q.dims()[0], heads.kv, key_size, value_size}, &given = context.input(past_state).dims();
    for (std::size_t d = 0; d < wanted.size(); ++d)
      require_equal(given[d], wanted[d], "a size of past_state");
  }
  context.set_output(0, q.with_dims({q.dims()[0], q.dims()[1], value_size * heads.query}));
  context.set_output(1, Type(state, Dims{q.dims()[0], heads.kv, key_size, value_size}));
}

/// One tensor [batch, tokens, heads * size] in double.
struct Packed {
  Tensor data;
  std::int64_t width = 0;

  explicit Packed(const Tensor& tensor) : data(to_dtype(tensor, DType::f64)), width(tensor.shape().back()) {}
  const double* token(std::int64_t row) const { return data.as<double>().data() + row * width; }
};

struct HeadSizes {
  std::int64_t batch, tokens, key, value;
};

/// One token's update of the state [key size, value size] of one head.
struct StateUpdate {
  const UpdateRule& rule;
  const HeadSizes& sizes;

  /// `gates` has one value, or one for each row of the state.
  void apply(double* state, const double* k, const double* v, std::span<const double> gates,
             double rate) const {
    if (rule.gated)
      for (std::int64_t i = 0; i < sizes.key; ++i) {
        const double factor = std::exp(gates[gates.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
        for (std::int64_t j = 0; j < sizes.value; ++j) state[i * sizes.value + j] *= factor;
      }
    CountedVector<double> change(v, v + sizes.value);
    if (rule.delta) {
      for (std::int64_t i = 0; i < sizes.key; ++i)
        for (std::size_t j = 0; j < change.size(); ++j)
          change[j] -= state[i * sizes.value + static_cast<std::int64_t>(j)] * k[i];
      for (double& value : change) value *= rate;
    }
    for (std::int64_t i = 0; i < sizes.key; ++i)
      for (std::size_t j = 0; j < change.size(); ++j)
        state[i * sizes.value + static_cast<std::int64_t>(j)] += k[i] * change[j];
  }
};

static std::span<const double> head_values(const Packed* packed, std::int64_t row, std::int64_t head,
                                           std::int64_t heads) {
  if (!packed) return {};
  const std::int64_t size = packed->width < heads ? packed->width : packed->width / heads;
  const std::int64_t first = packed->width < heads ? 0 : head * size; // One value for all heads.
  return {packed->token(row) + first, static_cast<std::size_t>(size)};
}

static void check_gate(const Tensor& gate, const HeadSizes& sizes, std::int64_t heads,
                       std::string_view what) {
  const Shape& shape = gate.shape();
  const bool fits =
      shape.rank() == 3 && shape[0] == sizes.batch && shape[1] == sizes.tokens &&
      (shape[2] == 1 || shape[2] == heads || (what == "decay" && shape[2] == heads * sizes.key));
  check(fits, ErrorCode::invalid_argument, "{} has shape {}, expected [{}, {}, {}]", what, shape.to_string(),
        sizes.batch, sizes.tokens, heads);
}

static void run_linear_attention(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const HeadCounts heads = HeadCounts::read(context.attributes());
  const UpdateRule rule = UpdateRule::read(context.attributes());
  const Packed q(context.input(query)), k(context.input(key)), v(context.input(value));
  const HeadSizes sizes{q.data.shape()[0], q.data.shape()[1], q.width / heads.query, v.width / heads.kv};
  std::optional<Packed> gates, rates;
  if (rule.gated) gates.emplace(context.input(decay));
  if (rule.delta) rates.emplace(context.input(beta));
  if (gates) check_gate(gates->data, sizes, heads.kv, "decay");
  if (rates) check_gate(rates->data, sizes, heads.kv, "beta");
  Tensor states = Tensor::zeros(DType::f64, context.output(1).shape());
  if (context.has(past_state)) copy_tensor(context.input(past_state), states);
  double scale = context.attributes().real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(sizes.key));
  const std::int64_t group = heads.query / heads.kv;
  for_each_row(context.threads(), sizes.batch * heads.kv, [&](std::int64_t row) {
    const std::int64_t b = row / heads.kv, h = row % heads.kv;
    double* state = states.as<double>().data() + row * sizes.key * sizes.value;
    for (std::int64_t t = b * sizes.tokens; t < (b + 1) * sizes.tokens; ++t) {
      const auto rate = head_values(rates ? &*rates : nullptr, t, h, heads.kv);
      StateUpdate{rule, sizes}.apply(state, k.token(t) + h * sizes.key, v.token(t) + h * sizes.value,
                                     head_values(gates ? &*gates : nullptr, t, h, heads.kv),
                                     rate.empty() ? 1 : rate[0]);
      for (std::int64_t g = h * group; g < (h + 1) * group; ++g) {
        double* out = y.as<double>().data() + (t * heads.query + g) * sizes.value;
        std::fill_n(out, sizes.value, 0.0);
        for (std::int64_t i = 0; i < sizes.key; ++i) {
          const double factor = scale * q.token(t)[g * sizes.key + i];
          for (std::int64_t j = 0; j < sizes.value; ++j) out[j] += factor * state[i * sizes.value + j];
        }
      }
    }
  });
  y.store();
  copy_tensor(states, context.output(1));
}

std::vector<OpDef> linear_attention_ops() {
  return {
      OpDef{.name = "linear_attention",
            .min_inputs = 3,
            .max_inputs = 6,
            .min_outputs = 2,
            .max_outputs = 2,
            .operands = {{"query", dtypes::floats, 'T', "B L _"},
                         {"key", dtypes::floats, 'T', "B L _"},
                         {"value", dtypes::floats, 'T', "B L _"},
                         {"past_state", dtypes::floats, 0, "B _ _ _"},
                         {"decay", dtypes::floats, 'T', "B L _"},
                         {"beta", dtypes::floats, 'T', "B L _"}},
            .attributes = {integer_attribute("chunk_size", 64, between(0, INT32_MAX)),
                           required_attribute("kv_num_heads", AttributeKind::integer, between(1, INT32_MAX)),
                           required_attribute("q_num_heads", AttributeKind::integer, between(1, INT32_MAX)),
                           real_attribute("scale", 0, finite()),
                           string_attribute("update_rule", "gated_delta",
                                            one_of({"linear", "gated", "delta", "gated_delta"}))},
            .infer = infer_linear_attention,
            .reference = run_linear_attention,
            .expand = {},
            .traits = {.pattern = Pattern::composite, .accumulates = true}}};
}

} // namespace lanner::ops
