#include "engine/advice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/step_report.h"
#include "graph/op.h"
#include "ops/definition/axis.h"
#include "ops/table/named.h"
#include "program/lowered/fused_name.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

constexpr double least_part = 0.1; ///< Of a step's time; a smaller gain is not worth a change.

bool runs_by_definition(const Node& node) {
  return node.tactic.backend == "reference" || node.tactic.backend == interpreter_backend;
}

bool has_static_input(const Node& node) {
  return node.input(0) && node.input(0)->type.is_static();
}

class Adviser {
public:
  explicit Adviser(const Program& program) : program_(program), target_(program.target()) {
    for (const Step& step : program.steps()) total_ += step.node->tactic.seconds;
  }

  std::vector<Advice> run() {
    for (const Step& step : program_.steps()) {
      const Node& node = *step.node;
      if (!is_planned(node) || !has_static_input(node)) continue;
      gather(step);
      reduction(step);
      selection(step);
      concatenation(step);
      recurrent(step);
      contraction(step);
    }
    std::ranges::stable_sort(found_, std::ranges::greater{},
                             [](const Advice& one) { return one.seconds.value_or(-1); });
    return std::move(found_);
  }

private:
  /// `part`: how much of the step's time a change saves at most.
  void add(const Step& step, double part, std::string text) {
    const Node& node = *step.node;
    const double seconds = node.tactic.seconds * part;
    constexpr double noticeable = 0.001; // Of the network's time.
    if (part < least_part || (total_ > 0 && seconds < noticeable * total_)) return;
    const std::string title = fused_name(node.sources);
    found_.push_back({node.output()->name(), title.empty() ? node.output()->name() : title, std::move(text),
                      node.tactic.seconds > 0 ? std::optional(seconds) : std::nullopt});
  }

  /// The part of its time that a step loses against the machine's limit; all but nothing is known of those
  /// that were not timed.
  double above_limit(const Step& step) const {
    const SpeedLimit limit = speed_limit(step, target_);
    const double seconds = step.node->tactic.seconds;
    return seconds > 0 ? std::clamp(1 - limit.seconds / seconds, 0.0, 1.0) : 1;
  }

  static std::size_t axis_of(const Node& node, std::int64_t fallback) {
    return ops::resolve_axis(node.attributes.integer("axis", fallback), node.input(0)->type.rank());
  }

  void gather(const Step& step) {
    const Node& node = *step.node;
    if (node.op().traits.index_input != 1 || node.input(0)->type.rank() == 0) return;
    const Shape shape = node.input(0)->type.shape();
    const std::size_t axis = axis_of(node, 0);
    std::int64_t bytes = static_cast<std::int64_t>(bit_width(node.input(0)->type.dtype()) / 8);
    for (std::size_t d = axis + 1; d < shape.rank(); ++d) bytes *= shape[d];
    constexpr std::int64_t line = 64; // Memory is read by lines of so many bytes.
    if (axis == 0 || bytes >= line) return;
    add(step, above_limit(step),
        fmt::format(
            "gathers pieces of {} bytes along axis {}; along axis 0 it would copy whole rows: keep the data "
            "transposed",
            bytes, axis));
  }

  void reduction(const Step& step) {
    const Node& node = *step.node;
    if (pattern_of(node) != Pattern::reduction || !runs_by_definition(node)) return;
    add(step, above_limit(step),
        "runs by its definition: kernels take sums, means, extremes, norms and logarithms of sums along axes "
        "with no "
        "kept one between them; transpose, or write it by these");
  }

  void selection(const Step& step) {
    const Node& node = *step.node;
    if (pattern_of(node) != Pattern::selection || node.outputs().size() != 2 ||
        !node.attributes.has("largest"))
      return;
    const Shape from = node.input(0)->type.shape(), to = node.output()->type.shape();
    const std::size_t axis = axis_of(node, -1);
    if (axis + 1 != from.rank() && from[axis] > 1)
      add(step, above_limit(step),
          fmt::format("searches along axis {} of {}: along the last axis it would read memory in order", axis,
                      from.rank()));
    else if (runs_by_definition(node) && from[axis] > 0 && 4 * to[axis] > from[axis])
      add(step, above_limit(step),
          fmt::format("keeps the {} largest of {}: time grows with how many are kept", to[axis], from[axis]));
  }

  void concatenation(const Step& step) {
    const Node& node = *step.node;
    if (!ops::is_concat(node)) return;
    add(step, 1,
        "copies its inputs: they are not made in place, as an input has other readers, is an input of the "
        "network, or "
        "its kernel writes whole values only");
  }

  void recurrent(const Step& step) {
    const Node& node = *step.node;
    if (pattern_of(node) != Pattern::recurrent || node.input(0)->type.rank() != 3) return;
    const std::int64_t batch = node.input(0)->type.shape()[node.attributes.flag("layout") ? 0 : 1];
    constexpr std::int64_t enough = 8;
    if (batch < enough)
      add_untimed(
          step,
          fmt::format("reads its weights in each step for {} sequence{}: {} at once would take little longer",
                      batch, batch == 1 ? "" : "s", enough));
    if (node.attributes.string("direction", "forward") == "bidirectional")
      add_untimed(step, "is bidirectional: the next layer can begin only when both directions have ended");
    const std::int64_t hidden = node.attributes.integer("hidden_size", 0),
                       unit = device_of(node).is_host() ? 16 : 64;
    if (hidden % unit != 0)
      add(step, 1 - filled(hidden, unit),
          fmt::format("has a hidden size of {}, which is computed as {}: multiples of {} waste nothing",
                      hidden, rounded(hidden, unit), unit));
  }

  void add_untimed(const Step& step, std::string text) {
    const double seconds = step.node->tactic.seconds;
    if (total_ > 0 && seconds < 0.01 * total_) return;
    add(step, 1, std::move(text));
    if (!found_.empty()) found_.back().seconds = std::nullopt;
  }

  static std::int64_t rounded(std::int64_t size, std::int64_t unit) {
    return (size + unit - 1) / unit * unit;
  }
  static double filled(std::int64_t size, std::int64_t unit) {
    return static_cast<double>(size) / static_cast<double>(rounded(size, unit));
  }

  /// Columns that the unit computes at once; 0 where it has none.
  static std::int64_t columns_of(const MatrixUnit& unit) {
    if (unit.name == "tensor core") return 32;
    if (unit.name == "AVX2") return 8;
    return unit.name == "none" ? 0 : 16;
  }

  void contraction(const Step& step) {
    const Node& node = *step.node;
    const std::int64_t unit = columns_of(matrix_unit(node, target_));
    const Node* product = is_group(node) ? first_contraction(node) : &node;
    if (unit == 0 || !product || pattern_of(*product) != Pattern::contraction) return;
    const Type& weights = product->input(1)->type;
    if (!weights.is_static() || weights.rank() < 2 || product->output()->type.rank() < 2) return;
    const bool window = product->op().traits.per_image;
    const Shape shape = product->output()->type.shape();
    const std::int64_t columns = window ? shape[1] : shape.back();
    if (columns <= 4) return; // Images and scores: no choice of the author.
    add(step, 1 - filled(columns, unit),
        fmt::format("has {} output {}, which {} computes as {}: multiples of {} waste nothing", columns,
                    window ? "channels" : "columns", matrix_unit(node, target_).name, rounded(columns, unit),
                    unit));
  }

  static const Node* first_contraction(const Node& group) {
    for (const auto& inner : group.regions().front()->nodes())
      if (pattern_of(*inner) == Pattern::contraction) return inner.get();
    return nullptr;
  }

  const Program& program_;
  const Target& target_;
  double total_ = 0;
  std::vector<Advice> found_;
};

} // namespace

std::vector<Advice> advice_on(const Program& program) {
  return Adviser(program).run();
}

} // namespace lanner
