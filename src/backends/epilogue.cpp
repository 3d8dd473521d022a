#include "backends/epilogue.h"

#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "graph/op.h"

namespace lanner {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

ActivationCall linear(float alpha, float beta) {
  return {&formula("linear"), alpha, beta};
}
ActivationCall clip(float low, float high) {
  return {&formula("clip"), low, high};
}

std::optional<ActivationCall> clip_of(const GroupOp& op) {
  ActivationCall result = clip(-infinity, infinity);
  for (std::size_t i : {1, 2}) {
    if (!op.input(i)) continue;
    const auto bound = scalar_value(op.input(i).constant);
    if (!bound) return std::nullopt;
    (i == 1 ? result.alpha : result.beta) = *bound;
  }
  return result;
}

std::optional<BinaryKind> binary_of(std::string_view kind) {
  static const std::map<std::string_view, BinaryKind> kinds = {
      {"add", BinaryKind::add},    {"sub", BinaryKind::subtract}, {"mul", BinaryKind::multiply},
      {"div", BinaryKind::divide}, {"min", BinaryKind::minimum},  {"max", BinaryKind::maximum},
      {"sum", BinaryKind::add}};
  const auto found = kinds.find(kind);
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

/// `x kind c` for a constant c, as a linear map or a clip.
std::optional<ActivationCall> scalar_step(BinaryKind kind, float c, bool reversed) {
  switch (kind) {
  case BinaryKind::add:
    return linear(1, c);
  case BinaryKind::subtract:
    return reversed ? linear(-1, c) : linear(1, -c);
  case BinaryKind::multiply:
    return linear(c, 0);
  case BinaryKind::divide:
    return reversed ? std::nullopt : std::optional(linear(1 / c, 0));
  case BinaryKind::minimum:
    return clip(-infinity, c);
  case BinaryKind::maximum:
    return c == 0 ? ActivationCall{&formula("relu")} : clip(c, infinity);
  }
  return std::nullopt;
}

/// Reads the operations of a group in order, each using the result before it.
class EpilogueReader {
public:
  EpilogueReader(const Group& group, std::size_t channel_axis, std::string& reason,
                 std::optional<ByteRounding>* rounding)
      : group_(group), axis_(channel_axis), reason_(reason), rounding_(rounding),
        shape_(group.ops().front().type().shape()) {}

  std::optional<Epilogue> read() {
    for (std::size_t next = 1; next < group_.ops().size();) {
      const std::size_t taken = gate(next) ? 2 : rounds(next) || step(group_.ops()[next]) ? 1 : 0;
      if (taken == 0) {
        if (reason_.empty()) reason_ = "cannot fuse " + group_.ops()[next].kind();
        return std::nullopt;
      }
      next += taken;
      current_ = next - 1;
    }
    const auto& outputs = group_.outputs();
    if (outputs.size() != 1 || !outputs[0].is_op() || outputs[0].index != current_) {
      reason_ = "the group has outputs other than its last operation's";
      return std::nullopt;
    }
    return std::move(epilogue_);
  }

private:
  bool reads_current(const Operand& operand) const { return operand.is_op() && operand.index == current_; }

  /// x * sigmoid(x), x * hard_sigmoid(x) or x * tanh(softplus(x)), without the first step.
  bool gate(std::size_t next) {
    if (next + 1 >= group_.ops().size() || group_.uses_of_op(current_) != 2 || group_.uses_of_op(next) != 1)
      return false;
    const GroupOp &inner = group_.ops()[next], &product = group_.ops()[next + 1];
    if (product.kind() != "mul" || !reads_current(inner.input(0))) return false;
    const Operand a = product.input(0), b = product.input(1);
    const auto is_inner = [&](const Operand& operand) { return operand.is_op() && operand.index == next; };
    if (!(reads_current(a) && is_inner(b)) && !(reads_current(b) && is_inner(a))) return false;
    const auto activation = activation_of(inner);
    if (!activation) return false;
    if (activation->is("sigmoid")) {
      epilogue_.push_back({std::nullopt, {&formula("swish"), 1, 0}, {}, Spread::full});
      return true;
    }
    if (!activation->is("hard_sigmoid") || std::abs(activation->alpha - 1.0F / 6) > 1e-6F ||
        activation->beta != 0.5F)
      return false;
    epilogue_.push_back({std::nullopt, {&formula("hard_swish")}, {}, Spread::full});
    return true;
  }

  /// A rounding to bytes behind all steps.
  bool rounds(std::size_t next) {
    const GroupOp& op = group_.ops()[next];
    if (!rounding_ || next + 1 != group_.ops().size() || op.type().shape() != shape_ ||
        !reads_current(op.input(0)) || group_.uses_of_op(current_) != 1)
      return false;
    *rounding_ = byte_rounding_of(op);
    return rounding_->has_value();
  }

  bool step(const GroupOp& op) {
    if (op.type().shape() != shape_ || op.type().dtype() != group_.ops().front().type().dtype()) {
      reason_ = op.kind() + " changes shape or type";
      return false;
    }
    if (group_.uses_of_op(current_) != 1) {
      reason_ = "a result inside the group has several uses";
      return false;
    }
    if (const auto activation = activation_of(op); activation && reads_current(op.input(0))) {
      add(*activation);
      return true;
    }
    const auto binary = binary_of(op.kind());
    return binary && op.inputs.size() == 2 && binary_step(op, *binary);
  }

  /// Merges consecutive linear maps.
  void add(ActivationCall next) {
    ActivationCall* last =
        epilogue_.empty() || epilogue_.back().binary ? nullptr : &epilogue_.back().activation;
    if (last && last->is("linear") && next.is("linear"))
      *last = linear(last->alpha * next.alpha, last->beta * next.alpha + next.beta);
    else
      epilogue_.push_back({std::nullopt, next, {}, Spread::full});
  }

  bool binary_step(const GroupOp& op, BinaryKind binary) {
    const bool reversed = !reads_current(op.input(0));
    const Operand operand = op.input(reversed ? 0 : 1);
    if (!reads_current(op.input(reversed ? 1 : 0)) || operand.is_op()) return false;
    if (const auto scalar = scalar_value(operand.constant)) {
      const auto activation = scalar_step(binary, *scalar, reversed);
      if (activation) add(*activation);
      return activation.has_value();
    }
    const auto spread = spread_of(operand.shape(), shape_, axis_);
    if (!spread || (reversed && binary == BinaryKind::divide)) return false;
    if (reversed && binary == BinaryKind::subtract) {
      add(linear(-1, 0));
      binary = BinaryKind::add;
    }
    epilogue_.push_back({binary, {}, operand, *spread});
    return true;
  }

  const Group& group_;
  std::size_t axis_;
  std::string& reason_;
  std::optional<ByteRounding>* rounding_;
  Shape shape_;
  std::size_t current_ = 0;
  Epilogue epilogue_;
};

} // namespace

const Formula& formula_of(BinaryKind kind) {
  static constexpr const char* names[] = {"add", "sub", "mul", "div", "min", "max"};
  return formula(names[static_cast<std::size_t>(kind)]);
}

std::optional<ActivationCall> activation_of(const GroupOp& op) {
  const std::string& kind = op.kind();
  if (kind == "clip") return clip_of(op);
  if (kind == "neg") return linear(-1, 0);
  if (kind == "identity") return linear(1, 0);
  const Formula* own = op.node->op().elementwise ? find_formula(kind) : nullptr;
  if (!own || own->operands != 1 || own->truth) return std::nullopt;
  const FormulaCall call = call_of(*own, op.attributes());
  return ActivationCall{call.formula, call.numbers.p, call.numbers.q};
}

std::optional<Spread> spread_of(const Shape& operand, const Shape& result, std::size_t channel_axis) {
  if (operand.elements() == 1) return Spread::scalar;
  if (operand.rank() > result.rank()) return std::nullopt;
  const std::size_t missing = result.rank() - operand.rank();
  bool full = true, channel = true;
  for (std::size_t axis = 0; axis < result.rank(); ++axis) {
    const std::int64_t size = axis < missing ? 1 : operand[axis - missing];
    full &= size == result[axis];
    channel &= size == (axis == channel_axis ? result[axis] : 1);
  }
  if (channel) return Spread::channel;
  return full ? std::optional(Spread::full) : std::nullopt;
}

std::optional<Epilogue> epilogue_of(const Group& group, std::size_t channel_axis, std::string& reason,
                                    std::optional<ByteRounding>* rounding) {
  if (group.empty()) {
    reason = group.reason();
    return std::nullopt;
  }
  return EpilogueReader(group, channel_axis, reason, rounding).read();
}

} // namespace lanner
