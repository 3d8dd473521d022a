// Operators that only move elements, as box copies: transpose, slice, concat, split, pad, expand, tile,
// depth_to_space, space_to_depth, and reorder between layouts without blocks.

#include <algorithm>
#include <cstring>

#include "backends/cpu/stored_types.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/movement/copy_box.h"
#include "backends/movement/value_layouts.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "ops/movement/transpose.h"

namespace lanner {

namespace {

/// A single contiguous copy: input and output may be the same memory.
bool is_plain_copy(const Moves& moves, const GroupOp& op) {
  if (moves.moves.size() != 1 || moves.fill || op.node->outputs().size() != 1) return false;
  const Box& box = moves.moves[0].box;
  if (box.source_offset != 0 || box.target_offset != 0 || box.sizes.size() > 1) return false;
  if (op.input(0).shape().elements() != op.type().shape().elements()) return false;
  return box.sizes.empty() || (box.source_strides[0] == 1 && box.target_strides[0] == 1);
}

class MovementKernel final : public Kernel {
public:
  MovementKernel(Moves moves, const GroupOp& op, DType stored, int threads)
      : moves_(std::move(moves)), element_(bit_width(stored) / 8),
        filled_(moves_.fill ? op.type().shape().elements() : 0), plain_(is_plain_copy(moves_, op)),
        threads_(threads) {}

  void launch(const Launch& launch) const override {
    if (plain_ && launch.inputs[0] == launch.outputs[0]) return;
    if (filled_ > 0) fill(launch);
    for (const Move& move : moves_.moves)
      if (launch.outputs[move.output])
        copy_box(move.box, launch.inputs[move.input], launch.outputs[move.output], element_, threads_);
  }

private:
  void fill(const Launch& launch) const {
    const Operand& value = moves_.fill_value;
    if (!value) {
      std::memset(launch.outputs[0], 0, static_cast<std::size_t>(filled_) * element_);
      return;
    }
    const void* bytes = value.is_input() ? launch.inputs[value.index] : value.constant->data();
    copy_box({{filled_}, {0}, {1}}, bytes, launch.outputs[0], element_, threads_);
  }

  Moves moves_;
  std::size_t element_;
  std::int64_t filled_;
  bool plain_;
  int threads_;
};

/// Output layouts in which a transpose moves nothing, and the corresponding input layouts.
std::vector<ValueLayouts> transpose_layouts(const GroupOp& op) {
  const std::size_t rank = op.type().rank();
  const std::vector<std::size_t> order = ops::transpose_order(op.attributes(), rank);
  Layout from, to; // The input's memory read with the output's letters, and the output's with the input's.
  from.order.resize(rank);
  to.order.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    from.order[i] = static_cast<std::uint8_t>(order[i]);
    to.order[order[i]] = static_cast<std::uint8_t>(i);
  }
  const Shape input = op.input(0).shape(), output = op.type().shape();
  return {{{Layout{}}, {Layout{}}},
          {{Layout{}}, {canonical(to, output)}},
          {{canonical(from, input)}, {Layout{}}}};
}

std::vector<ValueLayouts> offered_layouts(const GroupOp& op, const Node& node) {
  if (op.kind() == "transpose") return transpose_layouts(op);
  if (op.kind() == "reorder")
    return {{{node.input(0)->storage.layout},
             {node.output(0)->storage.layout},
             {node.input(0)->storage.within},
             {node.output(0)->storage.within}}};
  return uniform_layouts(op);
}

/// `kept`: what values of f32 are stored as, unless it is a reorder, whose storages are given.
Tactic tactic_of(const GroupOp& op, const Node& node, const ValueLayouts& layouts, const Moves& moves,
                 std::optional<DType> kept, const Target& target) {
  const bool reorder = op.kind() == "reorder";
  Tactic tactic;
  tactic.kernel = "movement";
  tactic.inputs.resize(node.inputs().size());
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    tactic.inputs[op.input(i).index] = reorder ? node.input(0)->storage : stored_as(layouts.inputs[i], kept);
  for (const Layout& layout : layouts.outputs) tactic.outputs.push_back(stored_as(layout, kept));
  if (reorder) tactic.outputs[0] = node.output(0)->storage;
  take_strided(op, moves, tactic);
  const bool within = reorder && (tactic.inputs[0].within || tactic.outputs[0].within);
  const bool plain = is_plain_copy(moves, op) && !within;
  if (plain) tactic.in_place = static_cast<int>(op.input(0).index);
  const double bytes = static_cast<double>(op.type().shape().elements()) *
                       static_cast<double>(bit_width(kept.value_or(op.type().dtype()))) / 8;
  tactic.estimate = seconds_of({.bytes = bytes * (plain ? 1 : 3), .threads = target.threads}, target);
  return tactic;
}

TacticList movement_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!moves_whole_elements(group)) return list;
  const GroupOp& op = group.ops().front();
  const bool reorder = op.kind() == "reorder";
  if (reorder) {
    const Storage &from = node.input(0)->storage, &to = node.output(0)->storage;
    const DType own = op.type().dtype();
    if (stored_type(from, own) != stored_type(to, own) || !same_quantization(from, to)) return list;
    const std::size_t bits = bit_width(stored_type(from, own));
    if (bits < 8) return list;
  }
  const auto types =
      reorder ? std::vector<std::optional<DType>>{std::nullopt} : stored_types(op.type().dtype(), target);
  for (const std::optional<DType> kept : types)
    for (const ValueLayouts& layouts : offered_layouts(op, node)) {
      const auto moves = moves_at(op, layouts);
      // A value to fill with is stored as f32.
      if (moves && !(kept && moves->fill_value))
        list.tactics.push_back(tactic_of(op, node, layouts, *moves, kept, target));
    }
  return list;
}

std::unique_ptr<Kernel> movement_prepare(const Preparation& p) {
  const GroupOp& op = p.group.ops().front();
  auto moves = moves_at(op, layouts_of(op, p.tactic));
  check(moves.has_value(), ErrorCode::unsupported, "cpu: movement: {} in these layouts: build the plan again",
        op.kind());
  const DType stored = stored_type(p.tactic.outputs.at(0), op.type().dtype());
  return std::make_unique<MovementKernel>(std::move(*moves), op, stored, p.target.threads);
}

} // namespace

extern const KernelFamily movement_family{"movement", KernelTrust::own(), movement_tactics, movement_prepare};

} // namespace lanner
