#include "backends/movement/places.h"

#include <algorithm>

#include "backends/storage_layout.h"

namespace lanner {

std::optional<Moves> moves_at(const GroupOp& op, const Places& places) {
  const auto blocked = [](const Layout& layout) { return !layout.blocks.empty(); };
  if (std::ranges::any_of(places.inputs, blocked) || std::ranges::any_of(places.outputs, blocked))
    return std::nullopt;
  std::vector<Strides> inputs, outputs;
  for (std::size_t i = 0; i < places.inputs.size(); ++i)
    inputs.push_back(places.inputs[i].strides(op.input(i).shape()));
  for (std::size_t i = 0; i < places.outputs.size(); ++i)
    outputs.push_back(places.outputs[i].strides(op.node->output(i)->type.shape()));
  return moves_of(op, inputs, outputs);
}

std::vector<Places> even_places(const GroupOp& op) {
  std::vector<Places> result;
  const std::size_t rank = op.type().rank();
  for (const Layout& layout : {Layout{}, Layout::channels_last(rank)}) {
    Places places;
    bool fits = true;
    for (std::size_t i = 0; i < moved_inputs(op); ++i) {
      const Shape shape = op.input(i).shape();
      fits &= shape.rank() == rank || layout.row_major();
      places.inputs.push_back(fits ? canonical(layout, shape) : Layout{});
    }
    for (const auto& value : op.node->outputs())
      places.outputs.push_back(canonical(layout, value->type.shape()));
    if (fits) result.push_back(std::move(places));
    if (layout.row_major() && rank < 3) break;
  }
  return result;
}

Places places_of(const GroupOp& op, const Tactic& tactic) {
  Places places;
  for (std::size_t i = 0; i < moved_inputs(op); ++i)
    places.inputs.push_back(tactic.inputs.at(op.input(i).index).layout);
  for (const Storage& storage : tactic.outputs) places.outputs.push_back(storage.layout);
  return places;
}

} // namespace lanner
