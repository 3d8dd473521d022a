#include "backends/normalization/normalization.h"

#include <algorithm>

#include "graph/op.h"

namespace lanner {
namespace {

bool is_over_last_axes(const Node& node) {
  return node.kind() == "layer_normalization" || node.kind() == "rms_normalization";
}

bool is_over_pixels(const Node& node) {
  return node.kind() == "group_normalization" || node.kind() == "instance_normalization";
}

bool is_of(const Operand& operand, DType type) {
  return operand && operand.dtype() == type;
}

/// Parameters for each element of the last axes, from `axis` on.
bool spans_row(const Operand& operand, std::size_t rank, std::size_t axis, std::int64_t length) {
  return operand.shape().rank() <= rank - axis && operand.shape().elements() == length;
}

bool later_outputs_unused(const Node& node) {
  return std::ranges::all_of(node.outputs().subspan(1), [](const auto& value) { return value->unused(); });
}

/// Rows are the groups of channels of each image.
std::optional<Normalization> read_channels(const GroupOp& op) {
  const Shape shape = op.input(0).shape();
  const auto per_channel = [&](const Operand& operand) {
    return is_of(operand, op.type().dtype()) && operand.shape() == Shape{shape[1]};
  };
  if (!is_of(op.input(0), op.type().dtype()) || shape.elements() == 0 || !per_channel(op.input(1)) ||
      !per_channel(op.input(2)))
    return std::nullopt;
  Normalization made{op.input(0), {}, op.input(1), op.input(2)};
  made.repeat = op.kind() == "instance_normalization" ? shape[1] : op.attributes().integer("num_groups", 1);
  made.rows = shape[0] * made.repeat;
  made.length = shape.elements() / made.rows;
  made.shared = made.length / (shape[1] / made.repeat);
  made.epsilon = static_cast<float>(op.attributes().real("epsilon", 1e-5));
  made.centred = made.of_channels = true;
  return made;
}

/// The normalisation's own operands and sizes.
std::optional<Normalization> read_row(const GroupOp& op) {
  if (!is_of(op.input(0), op.type().dtype()) || !later_outputs_unused(*op.node)) return std::nullopt;
  const Shape shape = op.input(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t axis = op.attributes().integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || shape.elements() == 0) return std::nullopt;
  Normalization made{op.input(0), {}, op.input(1), op.input(2)};
  made.length = 1;
  for (std::int64_t i = axis; i < rank; ++i) made.length *= shape[static_cast<std::size_t>(i)];
  made.rows = shape.elements() / made.length;
  made.epsilon = static_cast<float>(op.attributes().real("epsilon", 1e-5));
  made.centred = op.kind() == "layer_normalization";
  const auto spans = [&](const Operand& operand) {
    return is_of(operand, op.type().dtype()) &&
           spans_row(operand, shape.rank(), static_cast<std::size_t>(axis), made.length);
  };
  const bool fits = spans(made.scale) && (!made.bias || spans(made.bias));
  return fits ? std::optional(made) : std::nullopt;
}

/// The preceding sum, of two values of the same shape.
bool read_sum(const GroupOp& op, Normalization& made) {
  const auto whole = [&](const Operand& operand) {
    return is_of(operand, op.type().dtype()) && operand.is_input() && operand.shape() == op.type().shape();
  };
  if (op.kind() != "add" || !made.x.is_op() || !whole(op.input(0)) || !whole(op.input(1))) return false;
  made.x = op.input(0);
  made.added = op.input(1);
  return true;
}

} // namespace

std::optional<Normalization> read_normalization(const Group& group, std::string& reason) {
  const std::vector<GroupOp>& ops = group.ops();
  if (ops.empty() || ops.size() > 2) return std::nullopt;
  const Node& node = *ops.back().node;
  if (!is_over_last_axes(node) && !(is_over_pixels(node) && ops.size() == 1)) return std::nullopt;
  if (node.attributes.integer("stash_type", 1) != 1) return std::nullopt;
  auto made = is_over_pixels(node) ? read_channels(ops.back()) : read_row(ops.back());
  if (!made || (ops.size() == 2 && !read_sum(ops.front(), *made)) ||
      (ops.size() == 1 && !made->x.is_input())) {
    reason = ops.back().kind() + ": supports scale and bias as long as the rows, all of one type";
    return std::nullopt;
  }
  const std::vector<Operand>& outputs = group.outputs();
  for (std::size_t o = 0; o < outputs.size() && ops.size() == 2; ++o)
    (outputs[o].index == 1 ? made->normalized : made->sum) = static_cast<int>(o);
  return made;
}

double passes_of(const Normalization& made) {
  const int passes = 2 + static_cast<int>(static_cast<bool>(made.added)) + static_cast<int>(made.sum >= 0);
  return static_cast<double>(passes) * static_cast<double>(made.rows * made.length);
}

std::vector<std::vector<const Node*>> propose_sum_and_normalization(const Node& anchor, const Target&) {
  if (!is_over_last_axes(anchor) || !anchor.input(0)) return {};
  const Node* sum = anchor.input(0)->producer();
  if (!sum || sum->kind() != "add" || sum->region() != anchor.region()) return {};
  return {{sum, &anchor}};
}

} // namespace lanner
