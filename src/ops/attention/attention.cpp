#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/attention/attention.h"
#include "ops/definition/rows.h"
#include "ops/definition/strided.h"
#include "ops/definition/visit.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// Scaled dot-product attention: Vaswani et al., "Attention Is All You Need", 2017.

namespace {
enum Input : std::size_t { query, key, value, mask, past_key, past_value, valid_keys };
}

static std::int64_t head_count(const AttributeMap& attributes, std::string_view name) {
  const std::int64_t heads = attributes.integer(name, 0);
  check(heads >= 1, ErrorCode::invalid_argument, "{} is {}, expected at least 1 with inputs of rank 3", name,
        heads);
  return heads;
}

/// Dims of an input as [batch, heads, sequence, head size].
static Dims head_dims(const Type& type, const AttributeMap& attributes, std::string_view heads_name) {
  check(type.rank() == 3 || type.rank() == 4, ErrorCode::invalid_argument,
        "input is {}, expected rank 3 or 4", type.to_string());
  const Dims& dims = type.dims();
  if (type.rank() == 4) return dims;
  const std::int64_t heads = head_count(attributes, heads_name);
  require_equal(mod(dims[2], heads), 0, "the remainder of the hidden size over the heads");
  return {dims[0], heads, dims[1], floor_div(dims[2], heads)};
}

static void check_dims(const Dims& q, const Dims& k, const Dims& v) {
  require_equal(k[0], q[0], "the key's batch size");
  require_equal(v[0], q[0], "the value's batch size");
  require_equal(k[3], q[3], "the key's head size");
  require_equal(v[1], k[1], "the value's head count");
  require_equal(v[2], k[2], "the value's sequence length");
  check(!(k[1] == Dim(0)) || q[1] == Dim(0), ErrorCode::invalid_argument,
        "the key has no heads, the query {}", q[1].to_string());
  if (k[1].is_constant() && k[1].value() > 0)
    require_equal(mod(q[1], k[1]), 0, "the remainder of query heads over key heads");
}

static void infer_attention(InferContext& context) {
  const Type &q_type = context.input(query), &k_type = context.input(key), &v_type = context.input(value);
  check(context.has(past_key) == context.has(past_value), ErrorCode::invalid_argument,
        "one of past_key and past_value is given, expected both or none");
  if (!q_type.ranked() || !k_type.ranked() || !v_type.ranked() ||
      (context.has(past_key) && !context.input(past_key).ranked())) {
    const DType types[] = {q_type.dtype(), k_type.dtype(), v_type.dtype(), q_type.dtype()};
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, Type::unranked(types[i]));
    return;
  }
  const AttributeMap& attributes = context.attributes();
  const Dims q = head_dims(q_type, attributes, "q_num_heads"),
             k = head_dims(k_type, attributes, "kv_num_heads");
  const Dims v = head_dims(v_type, attributes, "kv_num_heads");
  check_dims(q, k, v);
  Dim total = k[2];
  if (context.has(past_key)) {
    for (std::size_t i : {past_key, past_value}) {
      require_rank(context, i, 4);
      if (!context.input(i).ranked()) continue;
      require_equal(context.input(i).dims()[0], q[0], "the past's batch size");
      require_equal(context.input(i).dims()[1], k[1], "the past's head count");
      require_equal(context.input(i).dims()[3], (i == past_key ? k : v)[3], "the past's head size");
    }
    total = total + context.input(past_key).dims()[2];
    if (context.input(past_value).ranked())
      require_equal(context.input(past_value).dims()[2], context.input(past_key).dims()[2],
                    "the past value's length");
  }
  const Dims y = q_type.rank() == 4 ? Dims{q[0], q[1], q[2], v[3]} : Dims{q[0], q[2], q[1] * v[3]};
  context.set_output(0, q_type.with_dims(y));
  context.set_output(1, k_type.with_dims({k[0], k[1], total, k[3]}));
  context.set_output(2, v_type.with_dims({v[0], v[1], total, v[3]}));
  context.set_output(3, q_type.with_dims({q[0], q[1], q[2], total}));
}

// [batch, heads, sequence, head size], whatever the input's rank, appended to `past` in the same form.
static Tensor heads_of(const Tensor& input, std::int64_t heads, const Tensor* past) {
  const Shape& in = input.shape();
  const bool split = in.rank() == 4;
  const std::int64_t count = split ? in[1] : heads, length = split ? in[2] : in[1];
  const std::int64_t size = split ? in[3] : in[2] / heads, before = past ? past->shape()[2] : 0;
  Tensor result = Tensor::allocate(input.dtype(), {in[0], count, before + length, size});
  const Walk target = dense_walk(result.shape());
  const Walk source{0, split ? dense_walk(in).strides
                             : std::vector<std::int64_t>{length * in[2], size, in[2], 1}};
  const Walk after{before * size, target.strides};
  copy_strided({in[0], count, length, size}, input, source, result, after);
  if (past) copy_strided(past->shape(), *past, dense_walk(past->shape()), result, target);
  return result;
}

struct ScoreBias {
  AttentionMask mask;
  bool causal = false;
  std::int64_t left = -1, right = -1; ///< Window sizes; -1 is unbounded.
  std::int64_t past = 0;
  bool has_past = false;
  std::vector<std::int64_t> valid; ///< Number of non-padding keys of each batch row; empty: all.

  /// The bias of the score of key `j` for query `i` of `queries`.
  double at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t queries) const {
    constexpr double never = -std::numeric_limits<double>::infinity();
    std::int64_t offset = has_past ? past : 0;
    if (!valid.empty()) {
      if (j >= valid[static_cast<std::size_t>(b)]) return never;
      if (!has_past) offset = valid[static_cast<std::size_t>(b)] - queries;
    }
    const std::int64_t place = i + offset;
    if ((causal && j > place) || (left >= 0 && j < place - left) || (right >= 0 && j > place + right))
      return never;
    return mask.at(b, h, i, j);
  }
};

AttentionMask::AttentionMask(const Tensor& mask, const Shape& scores)
    : additive_(mask.dtype() != DType::boolean) {
  check(mask.rank() >= 1 && mask.rank() <= 4, ErrorCode::invalid_argument,
        "attn_mask has shape {}, expected rank 1 to 4", mask.shape().to_string());
  values_ = doubles_of(mask);
  const std::vector<std::int64_t> dense = dense_strides(mask.shape());
  for (std::size_t d = 4 - mask.rank(); d < 4; ++d) {
    const std::int64_t size = mask.shape()[d - (4 - mask.rank())];
    check(size == 1 || size == scores[d] || (d == 3 && size < scores[d]), ErrorCode::invalid_argument,
          "attn_mask has shape {}, which does not broadcast to {}", mask.shape().to_string(),
          scores.to_string());
    strides_[d] = size == 1 && scores[d] != 1 ? 0 : dense[d - (4 - mask.rank())];
    if (d == 3 && size != 1) length_ = size;
  }
}

double AttentionMask::at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
  constexpr double never = -std::numeric_limits<double>::infinity();
  if (values_.empty()) return length_ == 0 ? never : 0;
  if (j >= length_) return never;
  const double found = values_[static_cast<std::size_t>(b * strides_[0] + h * strides_[1] + i * strides_[2] +
                                                        j * strides_[3])];
  if (additive_) return found;
  return found != 0 ? 0 : never;
}

static ScoreBias read_bias(const KernelContext& context, const Shape& scores) {
  const AttributeMap& attributes = context.attributes();
  ScoreBias bias;
  if (context.has(mask)) bias.mask = AttentionMask(context.input(mask), scores);
  bias.causal = attributes.flag("is_causal");
  bias.left = attributes.integer("left_window_size", -1);
  bias.right = attributes.integer("right_window_size", -1);
  bias.has_past = context.has(past_key);
  if (bias.has_past) bias.past = context.input(past_key).shape()[2];
  if (!context.has(valid_keys)) return bias;
  bias.valid = read_integers(context.input(valid_keys), "nonpad_kv_seqlen");
  check(static_cast<std::int64_t>(bias.valid.size()) == scores[0], ErrorCode::invalid_argument,
        "nonpad_kv_seqlen has {} values for a batch of {}", bias.valid.size(), scores[0]);
  for (const std::int64_t length : bias.valid)
    check(length >= 0 && length <= scores[3], ErrorCode::invalid_argument,
          "nonpad_kv_seqlen holds {}, expected 0 to {}", length, scores[3]);
  return bias;
}

/// Softmax of a row: zeros where every score is minus infinity, NaN where one is NaN.
static void normalize_scores(std::span<double> row) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double score : row) most = Maximum{}(most, score);
  for (double& score : row) {
    score = std::isinf(most) && most < 0 ? 0 : std::exp(score - most);
    sum += score;
  }
  if (sum != 0)
    for (double& score : row) score /= sum;
}

struct AttentionRun {
  Tensor q, k, v; ///< In double, as [batch, heads, sequence, head size].
  ScoreBias bias;
  double scale, softcap;
  std::int64_t mode; ///< What `scores` holds: 0 products, 1 capped, 2 with bias, 3 after softmax.

  /// The attention of one query of one head; `scores` may be empty.
  void row(std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> y,
           std::span<double> scores) const;
};

void AttentionRun::row(std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> y,
                       std::span<double> scores) const {
  const std::int64_t size = q.shape()[3], keys = k.shape()[2], out = v.shape()[3], queries = q.shape()[2];
  const std::int64_t kv_row = b * k.shape()[1] + h / (q.shape()[1] / k.shape()[1]);
  const double* from = q.as<double>().data() + ((b * q.shape()[1] + h) * queries + i) * size;
  const double* key_row = k.as<double>().data() + kv_row * keys * size;
  const double* value_row = v.as<double>().data() + kv_row * keys * out;
  CountedVector<double> work(static_cast<std::size_t>(keys));
  const auto report = [&](std::int64_t stage) {
    if (!scores.empty() && stage == mode) std::copy(work.begin(), work.end(), scores.begin());
  };
  for (std::size_t j = 0; j < work.size(); ++j, key_row += size) {
    double product = 0;
    for (std::int64_t d = 0; d < size; ++d) product += from[d] * key_row[d];
    work[j] = product * scale;
  }
  report(0);
  if (softcap != 0)
    for (double& score : work) score = softcap * std::tanh(score / softcap);
  report(1);
  for (std::size_t j = 0; j < work.size(); ++j)
    work[j] += bias.at(b, h, i, static_cast<std::int64_t>(j), queries);
  report(2);
  normalize_scores(work);
  report(3);
  std::fill(y.begin(), y.end(), 0.0);
  for (std::size_t j = 0; j < work.size(); ++j, value_row += out)
    if (work[j] != 0)
      for (std::size_t d = 0; d < y.size(); ++d) y[d] += work[j] * value_row[d];
}

static void run_attention(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const AttributeMap& attributes = context.attributes();
  const auto wide = [&](std::size_t i, std::string_view heads, std::size_t past) {
    const Tensor* before = past != 0 && context.has(past) ? &context.input(past) : nullptr;
    return heads_of(context.input(i), attributes.integer(heads, 0), before);
  };
  const Tensor q = wide(query, "q_num_heads", 0), k = wide(key, "kv_num_heads", past_key);
  const Tensor v = wide(value, "kv_num_heads", past_value);
  const auto wants = [&](std::size_t i) { return i < context.outputs() && context.wanted(i); };
  if (wants(1)) copy_tensor(k, context.output(1));
  if (wants(2)) copy_tensor(v, context.output(2));
  const std::int64_t batch = q.shape()[0], heads = q.shape()[1], queries = q.shape()[2], keys = k.shape()[2];
  const std::int64_t out = v.shape()[3];
  const Shape scores_shape{batch, heads, queries, keys};
  const double head_size = static_cast<double>(q.shape()[3]);
  const AttentionRun run{to_dtype(q, DType::f64),
                         to_dtype(k, DType::f64),
                         to_dtype(v, DType::f64),
                         read_bias(context, scores_shape),
                         attributes.real("scale", 1 / std::sqrt(head_size)),
                         attributes.real("softcap", 0),
                         attributes.integer("qk_matmul_output_mode", 0)};
  Tensor scores = wants(3) ? Tensor::allocate(DType::f64, scores_shape) : Tensor();
  const bool split = context.output(0).rank() == 4;
  for_each_row(context.threads(), batch * heads * queries, [&](std::int64_t row) {
    const std::int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const std::int64_t to = split ? row : (b * queries + i) * heads + h;
    std::span<double> line;
    if (scores.defined())
      line =
          scores.as<double>().subspan(static_cast<std::size_t>(row * keys), static_cast<std::size_t>(keys));
    run.row(b, h, i,
            y.as<double>().subspan(static_cast<std::size_t>(to * out), static_cast<std::size_t>(out)), line);
  });
  y.store();
  if (scores.defined()) copy_tensor(scores, context.output(3));
}

std::vector<OpDef> attention_ops() {
  return {
      OpDef{.name = "attention",
            .min_inputs = 3,
            .max_inputs = 7,
            .max_outputs = 4,
            .operands = {{"Q", dtypes::floats, 'T'},
                         {"K", dtypes::floats, 'T'},
                         {"V", dtypes::floats, 'V'},
                         {"attn_mask", dtypes::numbers | dtypes::booleans},
                         {"past_key", dtypes::floats, 'T'},
                         {"past_value", dtypes::floats, 'V'},
                         {"nonpad_kv_seqlen", dtypes::counts, 0, "_"}},
            .attributes = {flag_attribute("is_causal", false),
                           optional_attribute("kv_num_heads", AttributeKind::integer, between(0, INT32_MAX)),
                           integer_attribute("left_window_size", -1, between(-1, INT32_MAX)),
                           optional_attribute("q_num_heads", AttributeKind::integer, between(0, INT32_MAX)),
                           integer_attribute("qk_matmul_output_mode", 0, between(0, 3)),
                           integer_attribute("right_window_size", -1, between(-1, INT32_MAX)),
                           optional_attribute("scale", AttributeKind::real, finite()),
                           real_attribute("softcap", 0, finite()),
                           optional_attribute("softmax_precision", AttributeKind::dtype,
                                              element_types(dtypes::floats))},
            .infer = infer_attention,
            .reference = run_attention,
            .expand = {},
            .traits = {.pattern = Pattern::composite, .accumulates = true}}};
}

} // namespace lanner::ops
