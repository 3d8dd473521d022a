#include "program/lowered/views.h"

#include <algorithm>

#include "backends/movement/boxes.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/slices.h"

namespace lanner {
namespace {

/// The part as a range of one axis, where the copied box of the row-major input is one.
std::optional<Part> part_of(const Box& box, const Shape& whole, const Shape& part) {
  if (whole.rank() != part.rank()) return std::nullopt;
  const Strides strides = dense_strides(whole);
  Part found;
  int cut = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (part[d] == whole[d]) continue;
    found.axis = d;
    ++cut;
  }
  if (cut != 1) return std::nullopt;
  found.start = box.source_offset / strides[found.axis];
  const Box slice =
      simplified({part.dims(), strides, dense_strides(part), found.start * strides[found.axis], 0});
  const bool same = box.sizes == slice.sizes && box.source_strides == slice.source_strides &&
                    box.target_strides == slice.target_strides && box.source_offset == slice.source_offset &&
                    box.target_offset == 0;
  return same ? std::optional(found) : std::nullopt;
}

} // namespace

std::optional<std::vector<Part>> parts_of(const Node& node) {
  const auto moved = [](const Value* value) {
    return value && !value->constant() && is_planned(*value) && value->type.shape().elements() > 0;
  };
  if (!ops::takes_parts(node) || !moved(node.input(0)) ||
      !std::ranges::all_of(node.outputs(), [&](const auto& output) { return moved(output.get()); }))
    return std::nullopt;
  const Group group = Group::of(node);
  const Value& input = *node.input(0);
  if (group.ops().size() != 1 || input.type.rank() == 0) return std::nullopt;
  std::vector<Strides> outputs;
  for (const auto& output : node.outputs()) outputs.push_back(dense_strides(output->type.shape()));
  const auto moves = moves_of(group.ops().front(), {dense_strides(input.type.shape())}, outputs);
  if (!moves || moves->fill || moves->moves.size() != outputs.size()) return std::nullopt;
  std::vector<Part> parts(outputs.size());
  for (const Move& move : moves->moves) {
    const auto part = part_of(move.box, input.type.shape(), node.output(move.output)->type.shape());
    if (!part) return std::nullopt;
    parts[move.output] = *part;
  }
  return parts;
}

std::optional<std::vector<std::int64_t>> part_offsets(const Node& node, const Storage& whole,
                                                      std::span<const Storage> storages) {
  const auto parts = parts_of(node);
  if (!parts || parts->size() != storages.size()) return std::nullopt;
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    const auto offset = part_offset({node.input(0)->type, whole}, {node.output(i)->type, storages[i]},
                                    (*parts)[i].axis, (*parts)[i].start);
    if (!offset) return std::nullopt;
    offsets.push_back(*offset);
  }
  return offsets;
}

bool is_part_view(const Node& node) {
  return ops::takes_parts(node) && node.tactic.backend == alias_backend;
}

} // namespace lanner
