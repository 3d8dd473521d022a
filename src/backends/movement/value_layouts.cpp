#include "backends/movement/value_layouts.h"

#include <algorithm>

#include "backends/storage_layout.h"
#include "graph/storage/within.h"

namespace lanner {

static Strides strides_in(const Layout& layout, const std::vector<Within>& withins, std::size_t i,
                          const Shape& shape) {
  Storage storage = stored(layout);
  if (i < withins.size()) storage.within = withins[i];
  return memory_strides(storage, shape);
}

std::optional<Moves> moves_at(const GroupOp& op, const ValueLayouts& layouts) {
  const auto blocked = [](const Layout& layout) { return !layout.blocks.empty(); };
  if (std::ranges::any_of(layouts.inputs, blocked) || std::ranges::any_of(layouts.outputs, blocked))
    return std::nullopt;
  std::vector<Strides> inputs, outputs;
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    inputs.push_back(strides_in(layouts.inputs[i], layouts.inputs_within, i, op.input(i).shape()));
  for (std::size_t i = 0; i < layouts.outputs.size(); ++i)
    outputs.push_back(
        strides_in(layouts.outputs[i], layouts.outputs_within, i, op.node->output(i)->type.shape()));
  return moves_of(op, inputs, outputs);
}

std::vector<ValueLayouts> uniform_layouts(const GroupOp& op) {
  std::vector<ValueLayouts> result;
  const std::size_t rank = op.type().rank();
  for (const Layout& layout : {Layout{}, Layout::channels_last(rank)}) {
    ValueLayouts layouts;
    bool fits = true;
    for (std::size_t i = 0; i < moved_inputs(op); ++i) {
      const Shape shape = op.input(i).shape();
      fits &= shape.rank() == rank || layout.row_major();
      layouts.inputs.push_back(fits ? canonical(layout, shape) : Layout{});
    }
    for (const auto& value : op.node->outputs())
      layouts.outputs.push_back(canonical(layout, value->type.shape()));
    if (fits) result.push_back(std::move(layouts));
    if (layout.row_major() && rank < 3) break;
  }
  return result;
}

ValueLayouts layouts_of(const GroupOp& op, const Tactic& tactic) {
  ValueLayouts layouts;
  for (std::size_t i = 0; i < moved_inputs(op); ++i) {
    const Storage& storage = tactic.inputs.at(op.input(i).index);
    layouts.inputs.push_back(storage.layout);
    layouts.inputs_within.push_back(storage.within);
  }
  for (const Storage& storage : tactic.outputs) {
    layouts.outputs.push_back(storage.layout);
    layouts.outputs_within.push_back(storage.within);
  }
  return layouts;
}

void take_strided(const GroupOp& op, const Moves& moves, Tactic& tactic) {
  tactic.strided_inputs.assign(tactic.inputs.size(), {});
  for (std::size_t i = 0; i < moved_inputs(op); ++i)
    if (op.input(i).is_input()) tactic.strided_inputs[op.input(i).index] = AxisSet::all();
  if (!moves.fill) tactic.strided_outputs.assign(tactic.outputs.size(), AxisSet::all());
}

} // namespace lanner
