// lstm, gru and rnn of f32.

#include <algorithm>
#include <optional>

#include "backends/config_text.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/recurrent/sequence.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {

namespace {

/// Rows whose products are computed together: with more, the gates no longer fit a core's cache.
constexpr std::int64_t max_rows = 64;

/// Inputs of the three operators.
enum InputIndex : std::size_t {
  x_input,
  w_input,
  r_input,
  bias_input,
  lengths_input,
  hidden_input,
  cell_input,
  peep_input
};

/// Weights with the columns of a panel contiguous.
Layout panels_of(const Shape& weights) {
  const auto width = static_cast<std::uint16_t>(panel_function().width);
  return canonical({{0, 1, 2}, {{1, width}}}, weights);
}

std::optional<Recurrence> read_recurrence(const Node& node, const Group& group, std::string& reason) {
  const std::int64_t gates = ops::recurrent_kind(node.kind()).gates;
  if (gates == 0) return std::nullopt;
  const GroupOp& op = group.ops().front();
  bool fits = true;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Operand& input = op.inputs[i];
    if (!input) continue;
    const DType type = input.dtype();
    fits = fits && input.shape().elements() > 0 &&
           (i == lengths_input ? type == DType::i32 || type == DType::i64 : type == DType::f32);
  }
  if (!fits) {
    reason = "supports non-empty f32 with i32 or i64 lengths";
    return std::nullopt;
  }
  const auto shape =
      ops::RecurrentShape::of(op.attributes(), op.input(x_input).shape(), op.input(r_input).shape(), gates);
  Recurrence net = Recurrence::of(node.kind(), op.attributes(), shape, cell_functions());
  net.wide_lengths = op.input(lengths_input) && op.input(lengths_input).dtype() == DType::i64;
  return net;
}

/// How the work is distributed: units to threads, or the columns of each unit's products.
struct Sharing {
  bool columns = false;
  int threads = 1;
  std::int64_t rows = 1; ///< Rows per unit.

  static Sharing by_units(const Recurrence& net, int threads) {
    const std::int64_t blocks = (threads - 1) / net.shape.directions + 1;
    return {false, threads, std::min((net.shape.batch - 1) / blocks + 1, max_rows)};
  }
  static Sharing by_columns(const Recurrence& net, int threads) {
    return {true, threads, std::min(net.shape.batch, max_rows)};
  }
  UnitThreads within_unit(std::int64_t units) const {
    if (columns) return {threads, threads};
    return {units == 1 ? threads : 1, 1};
  }
};

class RecurrentKernel final : public Kernel {
public:
  RecurrentKernel(Recurrence net, const Sharing& sharing, const Node& node)
      : net_(std::move(net)), sharing_(sharing), units_(net_.units()), inputs_(node.inputs().size()),
        outputs_(node.outputs().size()) {}

  std::size_t workspace() const override {
    return static_cast<std::size_t>(units_ * net_.unit_floats()) * sizeof(float);
  }

  void launch(const Launch& launch) const override {
    const auto input = [&](std::size_t i) {
      return i < inputs_ ? static_cast<const float*>(launch.inputs[i]) : nullptr;
    };
    const auto output = [&](std::size_t i) {
      return i < outputs_ ? static_cast<float*>(launch.outputs[i]) : nullptr;
    };
    const RecurrentData data{input(x_input),
                             input(w_input),
                             input(r_input),
                             input(bias_input),
                             input(hidden_input),
                             net_.has_cell ? input(cell_input) : nullptr,
                             net_.has_cell ? input(peep_input) : nullptr,
                             input(lengths_input),
                             output(0),
                             output(1),
                             output(2),
                             static_cast<float*>(launch.workspace)};
    const UnitThreads within = sharing_.within_unit(units_);
    parallel_each(sharing_.columns ? 1 : sharing_.threads, units_,
                  [&](std::int64_t unit, std::int64_t) { run_unit(net_, data, unit, within); });
  }

private:
  Recurrence net_;
  Sharing sharing_;
  std::int64_t units_;
  std::size_t inputs_, outputs_;
};

/// Seconds without the launch.
double working(const Work& work, const Target& target) {
  return seconds_of(work, target) - target.machine().start;
}

double step_seconds(const Recurrence& net, int threads, const Target& target) {
  constexpr double share = 0.7; // Fraction of the fastest products.
  const auto weights = static_cast<double>(net.shape.hidden * net.shape.width());
  return working({.operations = 2 * weights * static_cast<double>(net.rows) / share,
                  .bytes = 4 * weights,
                  .threads = threads},
                 target);
}

double seconds_of_net(const Recurrence& net, const Sharing& sharing, const Target& target) {
  constexpr double share = 0.7, operations_of_a_gate = 80;
  const ops::RecurrentShape& shape = net.shape;
  const UnitThreads within = sharing.within_unit(net.units());
  const auto rows = static_cast<double>(net.rows), steps = static_cast<double>(shape.steps),
             width = static_cast<double>(shape.width());
  const double input =
      working({.operations = 2 * rows * steps * static_cast<double>(shape.inputs) * width / share,
               .bytes = 4 * static_cast<double>(shape.inputs) * width,
               .threads = within.input},
              target);
  const double gates = rows * width * operations_of_a_gate / target.machine().operations;
  const double unit = input + steps * (step_seconds(net, within.state, target) + gates);
  const std::int64_t side_by_side = sharing.columns ? 1 : sharing.threads;
  const std::int64_t rounds = (net.units() - 1) / side_by_side + 1;
  return static_cast<double>(rounds) * unit + target.machine().start +
         (std::min(side_by_side, net.units()) > 1 ? target.machine().team_start : 0);
}

/// Synchronising threads at every step pays where a step reads many weights for few rows.
std::vector<Sharing> sharings(Recurrence net, const Target& target) {
  constexpr double too_short = 1.5e-6, long_enough = 50e-6, long_step = 4e-6;
  constexpr std::int64_t few_rows = 16;
  const Sharing alone = Sharing::by_units(net, 1);
  net.rows = alone.rows;
  const double seconds = seconds_of_net(net, alone, target);
  if (target.threads == 1 || seconds < too_short) return {alone};
  std::vector<Sharing> list{Sharing::by_units(net, target.threads)};
  if (net.shape.batch <= few_rows && step_seconds(net, 1, target) > long_step)
    list.push_back(Sharing::by_columns(net, target.threads));
  if (seconds < long_enough) list.push_back(alone);
  return list;
}

TacticList recurrent_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  auto net = read_recurrence(node, group, list.reason);
  if (!net) return list;
  for (const Sharing& sharing : sharings(*net, target)) {
    net->rows = sharing.rows;
    Tactic tactic;
    tactic.kernel = "recurrent";
    tactic.config = ConfigText()
                        .set("split", sharing.columns ? "columns" : "units")
                        .set("threads", sharing.threads)
                        .set("rows", sharing.rows)
                        .bytes();
    tactic.inputs.resize(node.inputs().size());
    for (const std::size_t i : {w_input, r_input})
      tactic.inputs[i] = stored(panels_of(node.input(i)->type.shape()));
    tactic.outputs.resize(node.outputs().size());
    tactic.estimate = seconds_of_net(*net, sharing, target);
    tactic.accumulates = DType::f32;
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> recurrent_prepare(const Preparation& p) {
  std::string reason;
  auto net = read_recurrence(p.node, p.group, reason);
  check_taken(net.has_value(), p, reason);
  for (const std::size_t i : {w_input, r_input}) {
    const Layout wanted = panels_of(p.node.input(i)->type.shape());
    check(p.tactic.inputs.at(i).layout == wanted, ErrorCode::unsupported,
          "cpu: recurrent: the weights' layout is {}, this processor needs {}: build the plan again",
          p.tactic.inputs[i].layout.to_string(), wanted.to_string());
  }
  const ConfigText config(p.tactic.config);
  const Sharing sharing{
      config.text("split") == "columns",
      std::clamp(static_cast<int>(config.integer("threads")), 1, p.target.threads),
      std::clamp<std::int64_t>(config.integer("rows"), 1, net->shape.batch),
  };
  net->rows = sharing.rows;
  return std::make_unique<RecurrentKernel>(std::move(*net), sharing, p.node);
}

} // namespace

extern const KernelFamily recurrent_family{"recurrent", KernelTrust::own(), recurrent_tactics,
                                           recurrent_prepare};

} // namespace lanner
