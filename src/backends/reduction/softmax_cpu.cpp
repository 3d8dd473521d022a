// softmax and log_softmax over any axis, of f32, f16 and bf16.

#include <algorithm>
#include <optional>

#include "backends/cpu/bf16.h"
#include "backends/cpu/layouts.h"
#include "backends/cpu/stored_types.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/reduction/softmax_columns.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"
#include "graph/op.h"
#include "ops/definition/axis.h"
#include "tensor/cast.h"

namespace lanner {

namespace {

/// Memory as outer x length x inner elements; each line along `length` is one softmax.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
};

/// Nothing where the layout's blocks cut a line, or where there is padding, which must stay 0.
std::optional<Lines> lines_of(const GroupOp& op, const Layout& layout) {
  const Shape shape = op.input(0).shape();
  if (is_padded(layout, shape)) return std::nullopt;
  const std::size_t axis = ops::resolve_axis(op.attributes().integer("axis", -1), shape.rank());
  Lines lines;
  for (const MemoryAxis& next : memory_axes(layout, shape)) {
    if (next.size == 1) continue;
    if (next.dim != axis) {
      (lines.length > 1 ? lines.inner : lines.outer) *= next.size;
      continue;
    }
    if (lines.length > 1) return std::nullopt;
    lines.length = next.size;
  }
  return lines;
}

/// Floats per piece in which halves are processed, which stay in L1; and the fewest columns worth it.
constexpr std::int64_t buffer = 8 << 10, least_columns = 16;

bool fits_type(const Lines& lines, DType type) {
  return type == DType::f32 || lines.length * std::min(lines.inner, least_columns) <= buffer;
}

class SoftmaxKernel final : public Kernel {
public:
  SoftmaxKernel(const Lines& lines, DType type, bool logarithm, int threads)
      : lines_(lines), type_(type), logarithm_(logarithm), threads_(threads),
        width_(static_cast<std::int64_t>(bit_width(type)) / 8) {
    const std::int64_t most = type == DType::f32 ? max_columns : buffer / lines.length;
    columns_ = std::min({lines.inner, max_columns, most});
    tiles_ = (lines.inner - 1) / columns_ + 1;
    grain_ = std::max<std::int64_t>(1, numbers_of_a_share / (lines.length * columns_));
  }

  void launch(const Launch& launch) const override {
    const auto* const from = static_cast<const std::byte*>(launch.inputs[0]);
    auto* const to = static_cast<std::byte*>(launch.outputs[0]);
    parallel_for(threads_, 0, lines_.outer * tiles_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t column = i % tiles_ * columns_;
        const std::int64_t first = i / tiles_ * lines_.length * lines_.inner + column;
        const std::int64_t count = std::min(columns_, lines_.inner - column);
        if (type_ == DType::f32)
          run({reinterpret_cast<const float*>(from) + first, reinterpret_cast<float*>(to) + first,
               lines_.inner, lines_.inner, lines_.length, count});
        else
          run_halves(from + first * width_, to + first * width_, count);
      }
    });
  }

private:
  static constexpr std::int64_t max_columns = 512;
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t numbers_of_a_share = 8192;

  void run(const SoftmaxColumns& columns) const {
    const SoftmaxFunctions& functions = softmax_functions();
    if (lines_.inner == 1)
      (logarithm_ ? functions.row_log : functions.row)({columns.from, columns.to, columns.length});
    else
      (logarithm_ ? functions.columns_log : functions.columns)(columns);
  }

  void run_halves(const std::byte* from, std::byte* to, std::int64_t count) const {
    alignas(64) float floats[buffer];
    const std::int64_t step = lines_.inner * width_;
    if (lines_.inner == 1) { // one row
      widen(from, floats, lines_.length);
      run({floats, floats, 1, 1, lines_.length, 1});
      return narrow(floats, to, lines_.length);
    }
    for (std::int64_t r = 0; r < lines_.length; ++r) widen(from + r * step, floats + r * count, count);
    run({floats, floats, count, count, lines_.length, count});
    for (std::int64_t r = 0; r < lines_.length; ++r) narrow(floats + r * count, to + r * step, count);
  }

  void widen(const std::byte* from, float* to, std::int64_t count) const {
    if (type_ == DType::bf16)
      bf16_functions().read(reinterpret_cast<const Bf16*>(from), to, count);
    else
      cast_elements(type_, from, DType::f32, to, static_cast<std::size_t>(count));
  }
  void narrow(const float* from, std::byte* to, std::int64_t count) const {
    if (type_ == DType::bf16)
      bf16_functions().write(from, reinterpret_cast<Bf16*>(to), count);
    else
      cast_elements(DType::f32, from, type_, to, static_cast<std::size_t>(count));
  }

  Lines lines_;
  DType type_;
  bool logarithm_;
  int threads_;
  std::int64_t width_, columns_ = 1, tiles_ = 1, grain_ = 1;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  if (op.kind() != "softmax" && op.kind() != "log_softmax") return false;
  const DType type = op.input(0).dtype();
  if ((type == DType::f32 || type == DType::f16 || type == DType::bf16) && op.input(0).is_input() &&
      op.input(0).shape().rank() > 0 && op.input(0).shape().elements() > 0)
    return true;
  reason = "supports f32, f16 and bf16 of rank 1 or more";
  return false;
}

Tactic tactic_of(const GroupOp& op, const Node& node, const Layout& layout, const Lines& lines,
                 std::optional<DType> kept, const Target& target) {
  const auto elements = static_cast<double>(op.type().shape().elements());
  Tactic tactic;
  tactic.kernel = "softmax";
  tactic.accumulates = DType::f32;
  tactic.inputs.resize(node.inputs().size());
  tactic.inputs[op.input(0).index] = stored_as(layout, kept);
  tactic.outputs = {stored_as(layout, kept)};
  if (!op.input(0).constant) tactic.in_place = static_cast<int>(op.input(0).index);
  // An exponential; with few columns only some lanes are used.
  const double of_element =
      lines.inner == 1 || lines.inner >= 16 ? 40 : 640.0 / static_cast<double>(lines.inner);
  tactic.estimate = seconds_of({.operations = of_element * elements,
                                .bytes = 2 * plain_bytes(*node.output()) / (kept ? 2 : 1),
                                .threads = target.threads},
                               target);
  return tactic;
}

TacticList softmax_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  for (const std::optional<DType> kept : stored_types(op.input(0).dtype(), target))
    for (const Layout& layout : offered_layouts(op.input(0).shape())) {
      const auto lines = lines_of(op, layout);
      if (lines && fits_type(*lines, kept.value_or(op.input(0).dtype())))
        list.tactics.push_back(tactic_of(op, node, layout, *lines, kept, target));
    }
  return list;
}

std::unique_ptr<Kernel> softmax_prepare(const Preparation& p) {
  std::string reason;
  check_taken(takes(p.group, reason), p, reason);
  const GroupOp& op = p.group.ops().front();
  const Storage& storage = p.tactic.inputs.at(op.input(0).index);
  const auto lines = lines_of(op, storage.layout);
  const DType type = stored_type(storage, op.input(0).dtype());
  check(lines && fits_type(*lines, type), ErrorCode::unsupported,
        "cpu: softmax in this layout: build the plan again");
  return std::make_unique<SoftmaxKernel>(*lines, type, op.kind() == "log_softmax", p.target.threads);
}

} // namespace

extern const KernelFamily softmax_family{"softmax", KernelTrust::own(), softmax_tactics, softmax_prepare};

} // namespace lanner
