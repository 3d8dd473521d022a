#include "backends/contraction/contraction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "backends/convolution/convolution_window.h"
#include "ops/definition/axis.h"
#include "tensor/cast.h"

namespace lanner {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

bool are_usable_scales(const Operand& operand, std::int64_t count) {
  if (!operand.constant || operand.dtype() != DType::f32) return false;
  const std::vector<double> numbers = column_numbers(operand, count);
  return std::ranges::all_of(numbers, is_usable_scale);
}

/// The formula of an operator of two operands.
const Formula* binary_formula(std::string_view kind) {
  static constexpr std::array names{"add", "sub", "mul", "div", "min", "max"};
  if (kind == "sum") return &formula("add");
  return std::ranges::find(names, kind) == names.end() ? nullptr : &formula(kind);
}

class Reader {
public:
  Reader(const Group& group, std::string& reason) : group_(group), reason_(reason) {}

  std::optional<Contraction> quantised(std::size_t anchor) {
    const GroupOp& op = group_.ops()[anchor];
    taken_.assign(group_.ops().size(), false);
    taken_[anchor] = true;
    if (!read_x(op.input(0)) || !read_weights(op.input(1)) || !read_bias(op)) return std::nullopt;
    if (!read_steps(anchor)) return std::nullopt;
    return std::move(result_);
  }

  std::optional<Contraction> integers(const GroupOp& op) {
    result_.x.operand = op.input(0);
    result_.weights = op.input(1);
    const Operand x_zero = op.input(2);
    result_.weight_zero = op.input(3);
    result_.type = DType::i32;
    const bool taken = is_byte(result_.x.operand.dtype()) && is_byte(result_.weights.dtype()) &&
                       result_.weights.constant && (!x_zero || x_zero.shape().elements() == 1) &&
                       (!result_.weight_zero || per_column(result_.weight_zero));
    if (!taken)
      return refused("supports constant weights, one zero point for the other operand and constant "
                     "ones per tensor or column");
    if (x_zero.constant)
      result_.x.by.zero = static_cast<int>(column_numbers(x_zero, 1)[0]);
    else
      result_.x_zero = x_zero;
    return std::move(result_);
  }

  /// Sets the shapes; false where they are not supported.
  bool read_shapes(const GroupOp& op, bool conv) {
    if (!read_contraction_shapes(op, conv, result_, reason_)) return false;
    if (result_.depth() <= max_contraction_depth) return true;
    return refuse(fmt::format("sums of {} products do not fit 32 bits, at most {} do", result_.depth(),
                              max_contraction_depth));
  }

private:
  bool refuse(std::string why) {
    reason_ = std::move(why);
    return false;
  }
  std::nullopt_t refused(std::string why) {
    reason_ = std::move(why);
    return std::nullopt;
  }

  /// A dequantized run-time value of bytes that only this operand reads.
  /// `zero_by_run`: its zero point is a value of the run, which is not read here.
  std::optional<StoredBytes> stored_bytes(const Operand& operand, bool zero_by_run = false) {
    if (!operand.is_op() || group_.uses_of_op(operand.index) != 1) return std::nullopt;
    const GroupOp& op = group_.ops()[operand.index];
    if (op.kind() != "dequantize_linear" || op.type().dtype() != DType::f32) return std::nullopt;
    const Operand stored = op.input(0);
    const auto by = byte_scale_of(op, zero_by_run);
    if (!by || !stored.is_input() || !is_byte(stored.dtype())) return std::nullopt;
    taken_[operand.index] = true;
    return StoredBytes{stored, *by};
  }

  bool read_x(const Operand& operand) {
    const GroupOp& op = group_.ops()[operand.index];
    const Operand zero = op.input(2);
    const bool given_by_run = zero.is_input() && !zero.constant;
    const auto x = stored_bytes(operand, given_by_run);
    if (!x || x->operand.constant)
      return refuse("supports a value of i8 or u8 with one usable scale on the left");
    result_.x = *x;
    if (given_by_run) result_.x_zero = zero;
    return true;
  }

  bool per_column(const Operand& operand) const {
    const std::int64_t count = operand.shape().elements();
    return operand.constant && (count == 1 || (operand.shape().rank() == 1 && count == result_.columns()));
  }

  bool read_weights(const Operand& operand) {
    const GroupOp& op = group_.ops()[operand.index];
    taken_[operand.index] = true;
    result_.weights = op.input(0);
    result_.weight_scale = op.input(1);
    result_.weight_zero = op.input(2);
    const std::int64_t count = result_.weight_scale.shape().elements();
    const std::size_t axis =
        ops::resolve_axis(op.attributes().integer("axis", 1), result_.weights.shape().rank());
    const bool fits = result_.weights.is_input() && result_.weights.constant &&
                      is_byte(result_.weights.dtype()) && op.type().dtype() == DType::f32 &&
                      group_.uses_of_op(operand.index) == 1 &&
                      op.attributes().integer("block_size", 0) == 0 && per_column(result_.weight_scale) &&
                      (count == 1 || axis == (result_.conv ? 0U : 1U)) &&
                      are_usable_scales(result_.weight_scale, result_.columns()) &&
                      (!result_.weight_zero || per_column(result_.weight_zero));
    return fits ||
           refuse("supports constant weights of i8 or u8 with usable scales per tensor or per column");
  }

  bool read_bias(const GroupOp& op) {
    if (!result_.conv || !op.input(2)) return true;
    result_.bias = op.input(2);
    return (result_.bias.constant && result_.bias.dtype() == DType::f32) ||
           refuse("supports a constant bias");
  }

  bool read_steps(std::size_t anchor) {
    current_ = anchor;
    while (!ended()) {
      const std::size_t user = next_user();
      const GroupOp& op = group_.ops()[user];
      if ((result_.quantised && !rounds(user)) || op.type().shape() != result_.output)
        return refuse("cannot fuse " + op.kind());
      if (current_ == user) continue;
      if (!gate(user) && !(group_.uses_of_op(current_) == 1 && step(user)))
        return refuse("cannot fuse " + op.kind());
    }
    if (group_.uses_of_op(current_) != 1 || group_.outputs().size() != 1 ||
        std::ranges::count(taken_, false) > 0)
      return refuse("the group has operations that are not between the sums and its one result");
    take_bias(result_);
    return true;
  }

  bool ended() const { return next_user() == group_.ops().size(); }

  bool reads_current(const Operand& operand) const { return operand.is_op() && operand.index == current_; }

  /// The first operation that reads the current one.
  std::size_t next_user() const {
    const auto reads = [&](const GroupOp& op) {
      return std::ranges::any_of(op.inputs, [&](const Operand& operand) { return reads_current(operand); });
    };
    return static_cast<std::size_t>(std::ranges::find_if(group_.ops(), reads) - group_.ops().begin());
  }

  void advance(std::size_t user) {
    taken_[user] = true;
    current_ = user;
  }
  void add(const ActivationCall& call) {
    result_.steps.push_back({call.formula, {call.alpha, call.beta}, {}, Spread::full, false, {}});
  }

  /// x * sigmoid(x) and x * hard_sigmoid(x).
  bool gate(std::size_t inner) {
    if (group_.uses_of_op(current_) != 2 || group_.uses_of_op(inner) != 1) return false;
    const auto activation = activation_of(group_.ops()[inner]);
    if (!activation) return false;
    const bool swish = activation->is("sigmoid");
    if (!swish && !(activation->is("hard_sigmoid") && std::abs(activation->alpha - 1.0F / 6) <= 1e-6F &&
                    activation->beta == 0.5F))
      return false;
    for (std::size_t i = 0; i < group_.ops().size(); ++i) {
      const GroupOp& op = group_.ops()[i];
      if (op.kind() != "mul" || op.inputs.size() != 2) continue;
      const bool first = reads_current(op.input(0)), second = reads_current(op.input(1));
      const Operand other = op.input(first ? 1 : 0);
      if (first == second || !other.is_op() || other.index != inner) continue;
      add(swish ? ActivationCall{&formula("swish"), 1, 0} : ActivationCall{&formula("hard_swish")});
      taken_[inner] = true;
      advance(i);
      return true;
    }
    return false;
  }

  bool step(std::size_t user) {
    const GroupOp& op = group_.ops()[user];
    if (op.kind() == "quantize_linear") return quantise(user);
    if (op.type().dtype() != DType::f32) return false;
    if (const auto activation = activation_of(op); activation && reads_current(op.input(0))) {
      add(*activation);
      advance(user);
      return true;
    }
    return op.inputs.size() == 2 && binary_step(user);
  }

  bool binary_step(std::size_t user) {
    const GroupOp& op = group_.ops()[user];
    const bool reversed = !reads_current(op.input(0));
    const Operand operand = op.input(reversed ? 0 : 1);
    const Formula* formula = binary_formula(op.kind());
    if (!formula || reads_current(operand)) return false;
    if (const auto scalar = scalar_value(operand.constant)) {
      const auto call = scalar_call(op.kind(), *scalar, reversed);
      if (!call) return false;
      add(*call);
    } else if (!full_or_channel(operand, *formula, reversed)) {
      return false;
    }
    advance(user);
    return true;
  }

  bool full_or_channel(const Operand& operand, const Formula& formula, bool reversed) {
    // A run-time value of one pixel may count as one number per channel too.
    const bool same = !operand.constant && operand.shape() == result_.output;
    const auto spread =
        same ? Spread::full : spread_of(operand.shape(), result_.output, result_.channel_axis());
    if (!spread) return false;
    if (*spread == Spread::scalar && !(operand.is_input() && takes_run_time_number(formula))) return false;
    ContractionStep step{&formula, {}, operand, *spread, reversed, {}};
    if (operand.is_op()) {
      const auto stored = stored_bytes(operand);
      if (!stored || *spread != Spread::full) return false;
      step.operand = stored->operand;
      step.stored = stored->by;
    } else if (operand.dtype() != DType::f32 || (*spread == Spread::full && !operand.is_input())) {
      return false;
    }
    result_.steps.push_back(step);
    return true;
  }

  bool quantise(std::size_t user) {
    const GroupOp& op = group_.ops()[user];
    const auto rounding = byte_rounding_of(op);
    if (!rounding || !reads_current(op.input(0))) return false;
    result_.quantised = rounding->by;
    result_.type = rounding->type;
    advance(user);
    return true;
  }

  /// dequantize_linear of what the last step quantised: both are one step, which rounds.
  bool rounds(std::size_t user) {
    const GroupOp& op = group_.ops()[user];
    if (op.kind() != "dequantize_linear" || op.type().dtype() != DType::f32 || !reads_current(op.input(0)) ||
        group_.uses_of_op(current_) != 1)
      return false;
    const auto by = byte_scale_of(op);
    if (!by || by->scale != result_.quantised->scale || by->zero != result_.quantised->zero) return false;
    result_.steps.push_back({nullptr, {}, {}, Spread::full, false, by, result_.type});
    result_.quantised.reset();
    result_.type = DType::f32;
    advance(user);
    return true;
  }

  const Group& group_;
  std::string& reason_;
  Contraction result_;
  std::vector<bool> taken_;
  std::size_t current_ = 0;
};

bool is_dequantized(const Group& group, const Operand& operand) {
  return operand.is_op() && group.ops()[operand.index].kind() == "dequantize_linear";
}

} // namespace

std::optional<ActivationCall> scalar_call(std::string_view kind, float c, bool reversed) {
  const auto linear = [](float alpha, float beta) { return ActivationCall{&formula("linear"), alpha, beta}; };
  if (kind == "add" || kind == "sum") return linear(1, c);
  if (kind == "mul") return linear(c, 0);
  if (kind == "div" && !reversed) return linear(1 / c, 0);
  if (kind == "sub") return reversed ? linear(-1, c) : linear(1, -c);
  if (kind == "min") return ActivationCall{&formula("clip"), -infinity, c};
  if (kind == "max")
    return c == 0 ? ActivationCall{&formula("relu")} : ActivationCall{&formula("clip"), c, infinity};
  return std::nullopt;
}

bool takes_run_time_number(const Formula& formula) {
  return formula.name == "add" || formula.name == "sub" || formula.name == "mul";
}

void take_bias(Contraction& c) {
  if (c.bias || c.steps.empty()) return;
  const ContractionStep& first = c.steps.front();
  if (!first.operand.constant || first.spread != Spread::channel || first.formula->name != "add") return;
  c.bias = first.operand;
  c.steps.erase(c.steps.begin());
}

static void read_window(const GroupOp& op, Contraction& c) {
  const std::vector<std::int64_t> kernel(c.filter.begin() + 2, c.filter.end());
  c.groups = op.attributes().integer("group", 1);
  ops::Window& window = c.window = window_of(op.attributes(), c.input, c.output, kernel);
  if (window.kernel.size() == 2) return;
  for (auto* sizes : {&window.image, &window.positions, &window.kernel, &window.strides, &window.dilations})
    sizes->insert(sizes->begin(), 1);
  for (auto* padding : {&window.begin, &window.end}) padding->insert(padding->begin(), 0);
}

bool read_contraction_shapes(const GroupOp& op, bool conv, Contraction& c, std::string& reason) {
  const auto refuse = [&](std::string_view why) {
    reason = why;
    return false;
  };
  c.conv = conv;
  c.input = op.input(0).shape();
  c.filter = op.input(1).shape();
  c.output = op.type().shape();
  const std::size_t rank = c.input.rank();
  if (c.output.elements() == 0 || c.input.elements() == 0 || c.filter.elements() == 0)
    return refuse("supports operands with elements");
  if (conv ? rank < 3 || rank > 4 : rank < 1 || c.filter.rank() != 2 || c.output.rank() != rank)
    return refuse(conv ? "supports one or two spatial axes" : "supports a single matrix of weights");
  if (conv) read_window(op, c);
  if (conv && std::ranges::min(c.window.begin) < 0) return refuse("supports no negative padding");
  return true;
}

double Contraction::operations() const {
  return 2.0 * static_cast<double>(output.elements()) * static_cast<double>(depth());
}

bool Contraction::has_weight_zeros() const {
  const std::vector<double> zeros = column_numbers(weight_zero, 1);
  return std::ranges::any_of(zeros, [](double zero) { return zero != 0; });
}

std::optional<Contraction> contraction_of(const Group& group, bool conv, std::string& reason) {
  Reader reader(group, reason);
  const std::vector<GroupOp>& ops = group.ops();
  if (ops.size() == 1) {
    const GroupOp& op = ops.front();
    if (op.kind() != (conv ? "conv_integer" : "matmul_integer")) return std::nullopt;
    return reader.read_shapes(op, conv) ? reader.integers(op) : std::nullopt;
  }
  const auto anchor = std::ranges::find_if(ops, [&](const GroupOp& op) {
    return op.kind() == (conv ? "conv" : "matmul") && is_dequantized(group, op.input(0)) &&
           is_dequantized(group, op.input(1));
  });
  if (anchor == ops.end() || !reader.read_shapes(*anchor, conv)) return std::nullopt;
  return reader.quantised(static_cast<std::size_t>(anchor - ops.begin()));
}

std::vector<double> column_numbers(const Operand& operand, std::int64_t count, const Tensor* given) {
  const auto size = static_cast<std::size_t>(count);
  if (!operand) return std::vector<double>(size, 0);
  const Tensor& source = given ? *given : *operand.constant;
  Tensor wide = Tensor::allocate(DType::f64, source.shape());
  copy_tensor(source, wide);
  const auto numbers = wide.as<double>();
  if (numbers.size() == 1) return std::vector<double>(size, numbers[0]);
  return {numbers.begin(), numbers.end()};
}

const Tensor* prepared_constant(const Operand& operand, const Preparation& preparation) {
  if (!operand.is_input()) return operand.constant;
  const Tensor* given = preparation.constants[operand.index];
  return given ? given : operand.constant;
}

std::int64_t row_distance(const Storage& storage, std::int64_t columns) {
  return storage.within ? storage.within.size : columns;
}

} // namespace lanner
