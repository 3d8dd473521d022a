#include "backends/cpu/reduce/normalization.h"

#include <algorithm>
#include <optional>

#include "backends/cpu/reduce/normalized_row.h"
#include "backends/estimate.h"
#include "base/check.h"
#include "device/parallel.h"
#include "graph/op.h"

namespace lanner {

namespace {

/// What a group asks for.
struct Normalization {
  Operand x, added, scale, bias; ///< `added` and `bias` may be absent.
  std::int64_t rows = 0, length = 0;
  std::int64_t shared = 1; ///< Neighbours in a row that have one scale and one bias.
  std::int64_t repeat = 1; ///< Rows after which parameters come again.
  float epsilon = 0;
  bool centred = false;
  int normalized = 0, sum = -1; ///< Outputs of the group; -1: nobody else reads the sum.
};

bool is_over_last_axes(const Node& node) {
  return node.kind() == "layer_normalization" || node.kind() == "rms_normalization";
}

bool is_over_pixels(const Node& node) {
  return node.kind() == "group_normalization" || node.kind() == "instance_normalization";
}

bool is_f32(const Operand& operand) {
  return operand && operand.dtype() == DType::f32;
}

/// A number for each element of the last axes, from `axis` on.
bool spans_row(const Operand& operand, std::size_t rank, std::size_t axis, std::int64_t length) {
  return is_f32(operand) && operand.shape().rank() <= rank - axis && operand.shape().elements() == length;
}

bool later_outputs_unused(const Node& node) {
  return std::ranges::all_of(node.outputs().subspan(1), [](const auto& value) { return value->unused(); });
}

/// Rows are the groups of channels of each image.
std::optional<Normalization> read_channels(const GroupOp& op) {
  const Shape shape = op.input(0).shape();
  const auto per_channel = [&](const Operand& operand) {
    return is_f32(operand) && operand.shape() == Shape{shape[1]};
  };
  if (!is_f32(op.input(0)) || shape.elements() == 0 || !per_channel(op.input(1)) || !per_channel(op.input(2)))
    return std::nullopt;
  Normalization made{op.input(0), {}, op.input(1), op.input(2)};
  made.repeat = op.kind() == "instance_normalization" ? shape[1] : op.attributes().integer("num_groups", 1);
  made.rows = shape[0] * made.repeat;
  made.length = shape.elements() / made.rows;
  made.shared = made.length / (shape[1] / made.repeat);
  made.epsilon = static_cast<float>(op.attributes().real("epsilon", 1e-5));
  made.centred = true;
  return made;
}

/// The normalisation's own operands and sizes.
std::optional<Normalization> read_row(const GroupOp& op) {
  if (!is_f32(op.input(0)) || op.type().dtype() != DType::f32 || !later_outputs_unused(*op.node))
    return std::nullopt;
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
    return spans_row(operand, shape.rank(), static_cast<std::size_t>(axis), made.length);
  };
  const bool fits = spans(made.scale) && (!made.bias || spans(made.bias));
  return fits ? std::optional(made) : std::nullopt;
}

/// The sum in front, of two values of the same shape.
bool read_sum(const GroupOp& op, Normalization& made) {
  const auto whole = [&](const Operand& operand) {
    return is_f32(operand) && operand.is_input() && operand.shape() == op.type().shape();
  };
  if (op.kind() != "add" || !made.x.is_op() || !whole(op.input(0)) || !whole(op.input(1))) return false;
  made.x = op.input(0);
  made.added = op.input(1);
  return true;
}

std::optional<Normalization> read_normalization(const Group& group, std::string& reason) {
  const std::vector<GroupOp>& ops = group.ops();
  if (ops.empty() || ops.size() > 2) return std::nullopt;
  const Node& node = *ops.back().node;
  if (!is_over_last_axes(node) && !(is_over_pixels(node) && ops.size() == 1)) return std::nullopt;
  auto made = is_over_pixels(node) ? read_channels(ops.back()) : read_row(ops.back());
  if (!made || (ops.size() == 2 && !read_sum(ops.front(), *made)) ||
      (ops.size() == 1 && !made->x.is_input())) {
    reason = "cpu: " + ops.back().kind() + " takes f32, a scale and a bias as long as the rows";
    return std::nullopt;
  }
  const std::vector<Operand>& outputs = group.outputs();
  for (std::size_t o = 0; o < outputs.size() && ops.size() == 2; ++o)
    (outputs[o].index == 1 ? made->normalized : made->sum) = static_cast<int>(o);
  return made;
}

const float* floats(const Operand& operand, const Launch& launch) {
  if (!operand) return nullptr;
  return static_cast<const float*>(operand.is_input() ? launch.inputs[operand.index]
                                                      : operand.constant->data());
}

class NormalizationKernel final : public Kernel {
public:
  NormalizationKernel(const Normalization& made, int threads)
      : made_(made), run_(row_normalizer()), threads_(threads),
        grain_(std::max<std::int64_t>(1, numbers_of_a_share / made.length)) {}

  void launch(const Launch& launch) const override {
    const float *x = floats(made_.x, launch), *added = floats(made_.added, launch),
                *scale = floats(made_.scale, launch), *bias = floats(made_.bias, launch);
    auto* const y = static_cast<float*>(launch.outputs[static_cast<std::size_t>(made_.normalized)]);
    auto* const sum =
        made_.sum < 0 ? nullptr : static_cast<float*>(launch.outputs[static_cast<std::size_t>(made_.sum)]);
    const auto at = [this](auto* first, std::int64_t row) {
      return first ? first + row * made_.length : nullptr;
    };
    parallel_for(threads_, 0, made_.rows, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t k = row % made_.repeat * (made_.length / made_.shared);
        run_({at(x, row), at(added, row), at(sum, row), at(y, row), scale + k, bias ? bias + k : nullptr,
              made_.length, made_.shared, made_.epsilon, made_.centred});
      }
    });
  }

private:
  /// A few microseconds, which pay for waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 16384;

  Normalization made_;
  RowNormalizer run_;
  int threads_;
  std::int64_t grain_;
};

/// The values that cross memory: two for each row, the second operand of a sum, and the sum where it is read.
double bytes_of(const Normalization& made) {
  const int passes = 2 + static_cast<int>(static_cast<bool>(made.added)) + static_cast<int>(made.sum >= 0);
  return 4.0 * static_cast<double>(passes * made.rows * made.length);
}

TacticList normalization_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto made = read_normalization(group, list.reason);
  if (!made) return list;
  Tactic tactic;
  tactic.kernel = "normalization";
  tactic.inputs.resize(node.inputs().size());
  tactic.outputs.resize(node.outputs().size());
  if (!made->x.constant && made->normalized == 0) tactic.in_place = static_cast<int>(made->x.index);
  tactic.estimate = seconds_of({.bytes = bytes_of(*made), .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> normalization_prepare(const Preparation& p) {
  std::string reason;
  const auto made = read_normalization(p.group, reason);
  check(made.has_value(), ErrorCode::unsupported, "{}: build the plan again", reason);
  return std::make_unique<NormalizationKernel>(*made, p.target.threads);
}

/// The sum in front: one pass over memory less, also where a later residual reads it again.
std::vector<std::vector<const Node*>> propose_sum(const Node& anchor, const Target&) {
  if (!is_over_last_axes(anchor) || !anchor.input(0)) return {};
  const Node* sum = anchor.input(0)->producer();
  if (!sum || sum->kind() != "add" || sum->region() != anchor.region()) return {};
  return {{sum, &anchor}};
}

} // namespace

const KernelFamily normalization_family{
    "normalization", normalization_tactics, normalization_prepare, nullptr, nullptr, nullptr, propose_sum};

} // namespace lanner
