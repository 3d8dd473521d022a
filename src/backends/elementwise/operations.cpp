#include "backends/elementwise/operations.h"

#include <limits>
#include <map>
#include <string_view>

namespace lanner {

namespace {

using O = Opcode;

const std::map<std::string_view, O>& plain_unary() {
  static const std::map<std::string_view, O> table = {
      {"identity", O::move},
      {"neg", O::negate},
      {"abs", O::absolute},
      {"reciprocal", O::reciprocal},
      {"sqrt", O::square_root},
      {"exp", O::exponential},
      {"log", O::logarithm},
      {"sigmoid", O::logistic},
      {"tanh", O::hyperbolic_tangent},
      {"erf", O::error_function},
      {"floor", O::floor},
      {"ceil", O::ceiling},
      {"round", O::nearest},
      {"sign", O::sign},
      {"relu", O::relu},
      {"softplus", O::softplus},
      {"softsign", O::softsign},
      {"hard_swish", O::hard_swish},
      {"mish", O::mish},
      {"not", O::logical_not},
      {"is_nan", O::is_nan},
      {"sin", O::sine},
      {"cos", O::cosine},
      {"tan", O::tangent},
      {"asin", O::arc_sine},
      {"acos", O::arc_cosine},
      {"atan", O::arc_tangent},
      {"sinh", O::hyperbolic_sine},
      {"cosh", O::hyperbolic_cosine},
      {"asinh", O::area_sine},
      {"acosh", O::area_cosine},
      {"atanh", O::area_tangent},
  };
  return table;
}

const std::map<std::string_view, O>& plain_binary() {
  static const std::map<std::string_view, O> table = {
      {"add", O::add},         {"sub", O::subtract},
      {"mul", O::multiply},    {"div", O::divide},
      {"pow", O::raise},       {"equal", O::equal},
      {"less", O::less},       {"less_or_equal", O::less_or_equal},
      {"and", O::logical_and}, {"or", O::logical_or},
      {"xor", O::logical_xor}, {"prelu", O::parametric_relu},
  };
  return table;
}

/// Operators of one operand whose attributes are the instruction's numbers, with ONNX's defaults.
struct Parametric {
  O opcode;
  const char *p, *q;
  double p_default, q_default;
};
const std::map<std::string_view, Parametric>& parametric() {
  static const std::map<std::string_view, Parametric> table = {
      {"leaky_relu", {O::leaky_relu, "alpha", "", 0.01F, 0}},
      {"elu", {O::elu, "alpha", "", 1, 0}},
      {"celu", {O::celu, "alpha", "", 1, 0}},
      {"selu", {O::selu, "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875}},
      {"hard_sigmoid", {O::hard_sigmoid, "alpha", "beta", 0.2F, 0.5}},
      {"swish", {O::swish, "alpha", "", 1, 0}},
      {"thresholded_relu", {O::threshold, "alpha", "", 1, 0}},
      {"shrink", {O::shrink, "bias", "lambd", 0, 0.5}},
  };
  return table;
}

std::optional<Translation> translate_clip(const GroupOp& op) {
  Numbers bounds{-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  bool constant = true;
  for (std::size_t i : {1, 2}) {
    if (!op.input(i)) continue;
    const auto bound = scalar_value(op.input(i).constant);
    constant &= bound.has_value();
    if (bound) (i == 1 ? bounds.p : bounds.q) = *bound;
  }
  // With the bounds the wrong way round the upper one wins, as it is applied last.
  if (constant) return Translation{O::clip, bounds, {0}};
  if (op.input(1) && op.input(2)) return Translation{O::clamp, {}, {0, 1, 2}};
  return Translation{op.input(1) ? O::maximum : O::minimum, {}, {0, op.input(1) ? 1U : 2U}};
}

/// `x + c` and the like for a number known now.
std::optional<Translation> translate_scalar(const GroupOp& op) {
  const auto left = scalar_value(op.input(0).constant), right = scalar_value(op.input(1).constant);
  if (left.has_value() == right.has_value()) return std::nullopt;
  const std::string& kind = op.kind();
  const float c = left ? *left : *right;
  const std::size_t x = left ? 1 : 0;
  if (kind == "add") return Translation{O::linear, {1, c}, {x}};
  if (kind == "mul") return Translation{O::linear, {c, 0}, {x}};
  if (kind == "sub")
    return left ? Translation{O::linear, {-1, c}, {x}} : Translation{O::linear, {1, -c}, {x}};
  if (kind == "pow" && right) return Translation{O::power, {c, 0}, {x}};
  return std::nullopt;
}

} // namespace

std::optional<Translation> translate(const GroupOp& op) {
  const std::string& kind = op.kind();
  const auto real = [&](const char* name, double fallback) {
    return *name ? static_cast<float>(op.attributes().real(name, fallback)) : 0.0F;
  };
  if (const auto found = plain_unary().find(kind); found != plain_unary().end())
    return Translation{found->second, {}, {0}};
  if (const auto found = parametric().find(kind); found != parametric().end()) {
    const Parametric& row = found->second;
    return Translation{row.opcode, {real(row.p, row.p_default), real(row.q, row.q_default)}, {0}};
  }
  if (kind == "gelu")
    return Translation{
        op.attributes().string("approximate", "none") == "tanh" ? O::gelu_by_tanh : O::gelu, {}, {0}};
  if (kind == "clip") return translate_clip(op);
  if (kind == "where") return Translation{O::choose, {}, {0, 1, 2}};
  if (kind == "greater") return Translation{O::less, {}, {1, 0}};
  if (kind == "greater_or_equal") return Translation{O::less_or_equal, {}, {1, 0}};
  if (auto scalar = op.inputs.size() == 2 ? translate_scalar(op) : std::nullopt) return scalar;
  if (const auto found = plain_binary().find(kind); found != plain_binary().end())
    return Translation{found->second, {}, {0, 1}};
  return std::nullopt;
}

std::optional<Opcode> translate_variadic(const GroupOp& op) {
  const std::string& kind = op.kind();
  if (kind == "sum" || kind == "mean") return O::add;
  if (kind == "min") return O::minimum;
  if (kind == "max") return O::maximum;
  return std::nullopt;
}

} // namespace lanner
