#include "ops/recurrent/recurrent.h"

#include <algorithm>

#include "base/check.h"
#include "ops/table/arguments.h"
#include "ops/traits.h"

namespace lanner::ops {

/// The operands, with cell state operands for an LSTM.
static std::vector<OperandSpec> recurrent_operands(bool has_cell) {
  std::vector<OperandSpec> operands = {
      {"X", dtypes::floats, 'T', "_ _ I"},       {"W", dtypes::floats, 'T', "D G I"},
      {"R", dtypes::floats, 'T', "D G H"},       {"B", dtypes::floats, 'T', "D _"},
      {"sequence_lens", dtypes::counts, 0, "_"}, {"initial_h", dtypes::floats, 'T', "_ _ H"}};
  if (has_cell) {
    operands.push_back({"initial_c", dtypes::floats, 'T', "_ _ H"});
    operands.push_back({"P", dtypes::floats, 'T', "D _"});
  }
  return operands;
}

static std::vector<AttributeSpec> recurrent_attribute_specs() {
  return {optional_attribute("activation_alpha", AttributeKind::reals, finite()),
          optional_attribute("activation_beta", AttributeKind::reals, finite()),
          optional_attribute("activations", AttributeKind::strings,
                             one_of({"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine", "LeakyRelu",
                                     "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"})),
          optional_attribute("clip", AttributeKind::real, finite()),
          string_attribute("direction", "forward", one_of({"forward", "reverse", "bidirectional"})),
          optional_attribute("hidden_size", AttributeKind::integer, between(0, INT32_MAX)),
          flag_attribute("layout", false)};
}

static std::int64_t direction_count(const AttributeMap& attributes) {
  const std::string direction = attributes.string("direction", "forward");
  if (direction == "bidirectional") return 2;
  check(direction == "forward" || direction == "reverse", ErrorCode::invalid_argument,
        "direction is \"{}\", expected forward, reverse or bidirectional", direction);
  return 1;
}

// Takes alpha or beta for one function: the next given value, or the function's default.
static double take(std::span<const double>& given, double fallback) {
  if (given.empty()) return fallback;
  const double value = given.front();
  given = given.subspan(1);
  return value;
}

double CellActivation::operator()(double x) const {
  x = std::clamp(x, -bound, bound);
  switch (kind) {
  case Kind::relu:
    return std::max(x, 0.0);
  case Kind::tanh:
    return std::tanh(x);
  case Kind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Kind::softsign:
    return x / (1 + std::abs(x));
  case Kind::softplus:
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  case Kind::affine:
    return alpha * x + beta;
  case Kind::leaky_relu:
    return x >= 0 ? x : alpha * x;
  case Kind::thresholded_relu:
    return x >= alpha ? x : 0;
  case Kind::scaled_tanh:
    return alpha * std::tanh(beta * x);
  case Kind::hard_sigmoid:
    return std::clamp(alpha * x + beta, 0.0, 1.0);
  case Kind::elu:
    return x >= 0 ? x : alpha * std::expm1(x);
  }
  fail(ErrorCode::internal, "an activation of kind {}", static_cast<int>(kind));
}

static CellActivation make_activation(const std::string& name, std::span<const double>& alphas,
                                      std::span<const double>& betas) {
  using Kind = CellActivation::Kind;
  if (name == "Relu") return {Kind::relu};
  if (name == "Tanh") return {Kind::tanh};
  if (name == "Sigmoid") return {Kind::sigmoid};
  if (name == "Softsign") return {Kind::softsign};
  if (name == "Softplus") return {Kind::softplus};
  if (name == "Affine") return {Kind::affine, take(alphas, 1), take(betas, 0)};
  if (name == "LeakyRelu") return {Kind::leaky_relu, take(alphas, 0.01)};
  if (name == "ThresholdedRelu") return {Kind::thresholded_relu, take(alphas, 1)};
  if (name == "ScaledTanh") return {Kind::scaled_tanh, take(alphas, 1), take(betas, 1)};
  if (name == "HardSigmoid") return {Kind::hard_sigmoid, take(alphas, 0.2), take(betas, 0.5)};
  if (name == "Elu") return {Kind::elu, take(alphas, 1)};
  fail(ErrorCode::unsupported, "activation \"{}\" is not one of ONNX's", name);
}

/// The number of sequential steps; 1 where it is unknown.
static double recurrent_steps(const Node& node) {
  const Value* x = node.input(0);
  const bool known = x && x->type.is_static() && x->type.rank() == 3;
  return known ? std::max(1.0, static_cast<double>(x->type.shape()[node.attributes.flag("layout") ? 1 : 0]))
               : 1;
}

/// FLOPs of both matrices of each direction, for every step and row.
static std::uint64_t recurrent_flops(const Node& node) {
  const Shape x = node.input(0)->type.shape();
  if (x.rank() != 3 || x[2] == 0 || !node.input(2) || !node.input(2)->type.is_static()) return 0;
  return 2 * static_cast<std::uint64_t>(x[0] * x[1]) *
         (element_count(node.input(1)) + element_count(node.input(2)));
}

RecurrentKind recurrent_kind(std::string_view op) {
  if (op == "lstm") return {4, {"Sigmoid", "Tanh", "Tanh"}};
  if (op == "gru") return {3, {"Sigmoid", "Tanh"}};
  if (op == "rnn") return {1, {"Tanh"}};
  return {};
}

std::vector<std::vector<CellActivation>> cell_activations(const AttributeMap& attributes,
                                                          const RecurrentKind& kind) {
  const std::vector<std::string>& fallback = kind.activations;
  const auto directions = static_cast<std::size_t>(direction_count(attributes));
  auto names = attributes.get<std::vector<std::string>>("activations", {});
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), fallback.begin(), fallback.end());
  // ONNX's default of rnn lists functions for both directions whatever the direction is.
  check(names.size() >= fallback.size() * directions, ErrorCode::invalid_argument,
        "activations has {} values, expected {}", names.size(), fallback.size() * directions);
  const auto alphas = attributes.get<std::vector<double>>("activation_alpha", {});
  const auto betas = attributes.get<std::vector<double>>("activation_beta", {});
  const double clip = attributes.has("clip") ? attributes.real("clip", 0) : 0;
  std::span<const double> rest_alphas = alphas, rest_betas = betas;
  std::vector<std::vector<CellActivation>> found(directions);
  for (std::size_t i = 0; i < fallback.size() * directions; ++i) {
    CellActivation activation = make_activation(names[i], rest_alphas, rest_betas);
    // The last of lstm's three is applied to the cell state, which runtimes do not clip.
    const bool of_state = fallback.size() == 3 && i % 3 == 2;
    if (clip > 0 && !of_state) activation.bound = clip;
    found[i / fallback.size()].push_back(activation);
  }
  return found;
}

static void check_layout(const AttributeMap& attributes) {
  const std::int64_t layout = attributes.integer("layout", 0);
  check(layout == 0 || layout == 1, ErrorCode::invalid_argument, "layout is {}, expected 0 or 1", layout);
}

static void check_weights(const InferContext& context, std::int64_t gates) {
  const Dim directions(direction_count(context.attributes()));
  const Type &x = context.input(0), &w = context.input(1), &r = context.input(2);
  for (std::size_t i : {1, 2}) {
    require_rank(context, i, 3);
    if (context.input(i).ranked())
      require_equal(context.input(i).dims()[0], directions, "the weights' direction count");
  }
  if (!r.ranked()) return;
  const Dim hidden = r.dims()[2];
  require_equal(r.dims()[1], hidden * gates, "the recurrence's row count");
  if (context.attributes().has("hidden_size"))
    require_equal(hidden, context.attributes().integer("hidden_size", 0), "the hidden size");
  if (w.ranked()) require_equal(w.dims()[1], hidden * gates, "the weights' row count");
  if (w.ranked() && x.ranked()) require_equal(w.dims()[2], x.dims()[2], "the weights' column count");
  if (context.has(3) && context.input(3).ranked()) {
    require_rank(context, 3, 2);
    require_equal(context.input(3).dims()[0], directions, "the bias's direction count");
    require_equal(context.input(3).dims()[1], hidden * 2 * gates, "the bias's size");
  }
  if (gates == 4 && context.has(7) && context.input(7).ranked()) {
    require_rank(context, 7, 2);
    require_equal(context.input(7).dims()[0], directions, "the peepholes' direction count");
    require_equal(context.input(7).dims()[1], hidden * 3, "the peepholes' size");
  }
}

static void check_states(const InferContext& context, const Dims& state, std::int64_t gates) {
  for (std::size_t i : {5, 6}) {
    if ((i == 6 && gates != 4) || !context.has(i) || !context.input(i).ranked()) continue;
    require_rank(context, i, 3);
    for (std::size_t d = 0; d < 3; ++d)
      require_equal(context.input(i).dims()[d], state[d], "a size of an initial state");
  }
}

/// Sets the outputs Y, Y_h and, for an LSTM, Y_c.
static void infer_recurrent(InferContext& context, std::int64_t gates) {
  const Type &x = context.input(0), &r = context.input(2);
  check_layout(context.attributes());
  require_rank(context, 0, 3);
  check_weights(context, gates);
  if (!x.ranked() || !r.ranked()) {
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, Type::unranked(x.dtype()));
    return;
  }
  const Dim directions(direction_count(context.attributes())), hidden = r.dims()[2];
  const bool batch_first = context.attributes().integer("layout", 0) == 1;
  const Dim steps = x.dims()[batch_first ? 1 : 0], batch = x.dims()[batch_first ? 0 : 1];
  if (context.has(4) && context.input(4).ranked() && context.input(4).rank() == 1)
    require_equal(context.input(4).dims()[0], batch, "the count of sequence lengths");
  const Dims all =
      batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden};
  const Dims state = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  check_states(context, state, gates);
  context.set_output(0, x.with_dims(all));
  for (std::size_t i = 1; i < context.outputs(); ++i) context.set_output(i, x.with_dims(state));
}

OpDef recurrent_op(std::string_view name, std::function<void(KernelContext&)> reference,
                   const std::vector<AttributeSpec>& own) {
  const std::int64_t gates = recurrent_kind(name).gates;
  const bool has_cell = name == "lstm";
  std::vector<AttributeSpec> attributes = recurrent_attribute_specs();
  attributes.insert(attributes.end(), own.begin(), own.end());
  return {.name = std::string(name),
          .min_inputs = 3,
          .max_inputs = has_cell ? 8 : 6,
          .max_outputs = has_cell ? 3 : 2,
          .operands = recurrent_operands(has_cell),
          .attributes = std::move(attributes),
          .infer = [gates](InferContext& context) { infer_recurrent(context, gates); },
          .reference = std::move(reference),
          .expand = {},
          .traits = {.pattern = Pattern::recurrent,
                     .accumulates = true,
                     .line_length = recurrent_steps,
                     .flops = recurrent_flops}};
}

RecurrentShape RecurrentShape::of(const AttributeMap& attributes, const Shape& x, const Shape& r,
                                  std::int64_t gates) {
  RecurrentShape shape;
  shape.batch_first = attributes.integer("layout", 0) == 1;
  shape.reverse = attributes.string("direction", "forward") == "reverse";
  shape.steps = x[shape.batch_first ? 1 : 0];
  shape.batch = x[shape.batch_first ? 0 : 1];
  shape.inputs = x[2];
  shape.hidden = r[2];
  shape.directions = direction_count(attributes);
  shape.gates = gates;
  return shape;
}

void check_sequence_length(std::int64_t length, const RecurrentShape& shape) {
  check(length >= 0 && length <= shape.steps, ErrorCode::invalid_argument,
        "sequence_lens holds {}, expected 0 to {}", length, shape.steps);
}

std::vector<std::int64_t> sequence_lengths(const KernelContext& context, const RecurrentShape& shape) {
  if (!context.has(4)) return std::vector<std::int64_t>(static_cast<std::size_t>(shape.batch), shape.steps);
  std::vector<std::int64_t> lengths = read_integers(context.input(4), "sequence_lens");
  check(static_cast<std::int64_t>(lengths.size()) == shape.batch, ErrorCode::invalid_argument,
        "sequence_lens has {} values, expected {}", lengths.size(), shape.batch);
  for (const std::int64_t length : lengths) check_sequence_length(length, shape);
  return lengths;
}

} // namespace lanner::ops
