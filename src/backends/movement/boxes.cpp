#include "backends/movement/boxes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <string_view>

#include "ops/definition/axis.h"
#include "ops/movement/transpose.h"
#include "ops/resampling/axis_taps.h"

namespace lanner {

namespace {

using Integers = std::vector<std::int64_t>;

std::optional<Integers> integers_of(const Operand& operand) {
  if (!operand.constant) return std::nullopt;
  if (operand.constant->dtype() == DType::i64) {
    const auto values = operand.constant->as<std::int64_t>();
    return Integers(values.begin(), values.end());
  }
  if (operand.constant->dtype() != DType::i32) return std::nullopt;
  const auto values = operand.constant->as<std::int32_t>();
  return Integers(values.begin(), values.end());
}

std::size_t from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

Integers sizes_of(const Shape& shape) {
  return shape.dims();
}

/// Arguments of every operator in this file.
struct Movement {
  const GroupOp& op;
  const std::vector<Strides>& inputs;
  const std::vector<Strides>& outputs;

  Shape input(std::size_t i = 0) const { return op.input(i).shape(); }
  Shape output(std::size_t i = 0) const { return op.node->output(i)->type.shape(); }
};

using Result = std::optional<Moves>;

Result one(Box box) {
  return Moves{{{0, 0, std::move(box)}}, false, {}};
}

Result transpose(const Movement& m) {
  Box box{sizes_of(m.output()), {}, m.outputs[0]};
  for (const std::size_t axis : ops::transpose_order(m.op.attributes(), m.input().rank()))
    box.source_strides.push_back(m.inputs[0][axis]);
  return one(std::move(box));
}

Result reorder(const Movement& m) {
  return one({sizes_of(m.output()), m.inputs[0], m.outputs[0]});
}

Result slice(const Movement& m) {
  const auto axes = slice_axes(m.op);
  if (!axes) return std::nullopt;
  Box box{sizes_of(m.output()), m.inputs[0], m.outputs[0]};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    if (box.sizes[i] == 0) continue;
    box.source_offset += (*axes)[i].start * m.inputs[0][i];
    box.source_strides[i] *= (*axes)[i].step;
  }
  return one(std::move(box));
}

Result concat(const Movement& m) {
  Moves moves;
  const std::size_t axis = from_front(m.op.attributes().integer("axis", 0), m.output().rank());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < m.op.inputs.size(); ++i) {
    moves.moves.push_back(
        {i, 0, {sizes_of(m.input(i)), m.inputs[i], m.outputs[0], 0, at * m.outputs[0][axis]}});
    at += m.input(i)[axis];
  }
  return moves;
}

Result split(const Movement& m) {
  Moves moves;
  const std::size_t axis = from_front(m.op.attributes().integer("axis", 0), m.input().rank());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < m.op.node->outputs().size(); ++i) {
    moves.moves.push_back(
        {0, i, {sizes_of(m.output(i)), m.inputs[0], m.outputs[i], at * m.inputs[0][axis], 0}});
    at += m.output(i)[axis];
  }
  return moves;
}

/// A run of consecutive indices of a result's axis that maps to consecutive input indices, by a step of 1, -1
/// or 0.
struct MemorySlice {
  std::int64_t target = 0, source = 0, step = 1, size = 1;
};

/// Nothing where there are more than `most`.
std::vector<MemorySlice> memory_slices_of(std::span<const std::int32_t> places, std::size_t most) {
  std::vector<MemorySlice> list;
  std::int64_t target = 0;
  for (const std::int64_t place : places) {
    MemorySlice* const last = list.empty() ? nullptr : &list.back();
    const std::int64_t step = last ? place - (last->source + (last->size - 1) * last->step) : 0;
    if (last && std::abs(step) <= 1 && (last->size == 1 || last->step == step)) {
      last->step = step;
      ++last->size;
    } else {
      if (list.size() == most) return {};
      list.push_back({target, place});
    }
    ++target;
  }
  return list;
}

/// Splits each box by the runs of an axis.
std::vector<Box> divided(const std::vector<Box>& boxes, std::size_t axis,
                         const std::vector<MemorySlice>& slices) {
  std::vector<Box> parts;
  for (const Box& box : boxes)
    for (const MemorySlice& slice : slices) {
      Box& part = parts.emplace_back(box);
      part.source_offset += slice.source * box.source_strides[axis];
      part.target_offset += slice.target * box.target_strides[axis];
      part.source_strides[axis] *= slice.step;
      part.sizes[axis] = slice.size;
    }
  return parts;
}

/// Padding that repeats input elements.
Result repeating_pad(const Movement& m) {
  // Enough for all corners of five axes. A small axis that is repeated many times would give one box per
  // repetition.
  constexpr std::size_t max_boxes = 256;
  const Shape input = m.input(), output = m.output();
  for (const std::size_t i : {1, 3})
    if (m.op.input(i) && !m.op.input(i).constant) return std::nullopt;
  if (std::ranges::any_of(output, [](std::int64_t size) { return size > INT32_MAX; })) return std::nullopt;
  const auto taps = ops::pad_taps(
      {m.op.attributes(), input, output, [&](std::size_t i) { return m.op.input(i).constant; }});
  if (!taps) return std::nullopt;
  std::vector<Box> boxes{{sizes_of(input), m.inputs[0], m.outputs[0]}};
  for (const ops::ResampledAxis& axis : *taps) {
    const std::vector<MemorySlice> slices = memory_slices_of(axis.indices, max_boxes / boxes.size());
    if (slices.empty()) return std::nullopt;
    boxes = divided(boxes, axis.axis, slices);
  }
  Moves moves;
  for (Box& box : boxes) moves.moves.push_back({0, 0, std::move(box)});
  return moves;
}

/// Negative padding crops.
Result pad(const Movement& m) {
  if (m.op.attributes().string("mode", "constant") != "constant") return repeating_pad(m);
  const auto pads = integers_of(m.op.input(1));
  if (!pads) return std::nullopt;
  const std::size_t rank = m.input().rank();
  Integers axes;
  if (m.op.input(3)) {
    const auto given = integers_of(m.op.input(3));
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  Box box{sizes_of(m.input()), m.inputs[0], m.outputs[0]};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = from_front(axes[i], rank);
    const std::int64_t before = (*pads)[i], after = (*pads)[axes.size() + i];
    box.sizes[axis] += std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
    if (box.sizes[axis] <= 0) return std::nullopt;
    if (before < 0)
      box.source_offset -= before * m.inputs[0][axis];
    else
      box.target_offset += before * m.outputs[0][axis];
  }
  Result result = one(std::move(box));
  result->fill = true;
  result->fill_value = m.op.input(2);
  return result;
}

Result expand(const Movement& m) {
  const Shape input = m.input(), output = m.output();
  Box box{sizes_of(output), Integers(output.rank(), 0), m.outputs[0]};
  for (std::size_t i = 0; i < input.rank(); ++i)
    if (input[i] != 1) box.source_strides[output.rank() - input.rank() + i] = m.inputs[0][i];
  return one(std::move(box));
}

/// Each axis becomes two: the copy, and the index in it.
Result tile(const Movement& m) {
  const Shape input = m.input(), output = m.output();
  Box box;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    box.sizes.insert(box.sizes.end(), {output[i] / input[i], input[i]});
    box.source_strides.insert(box.source_strides.end(), {0, m.inputs[0][i]});
    box.target_strides.insert(box.target_strides.end(), {m.outputs[0][i] * input[i], m.outputs[0][i]});
  }
  return one(std::move(box));
}

/// Both sides seen as batch, depth, block row, block column, row, column.
Result space(const Movement& m, bool to_space) {
  const std::int64_t block = m.op.attributes().integer("blocksize", 1);
  const bool depth_last = m.op.attributes().string("mode", "DCR") == "DCR";
  const Shape deep = to_space ? m.input() : m.output();
  const Strides& d = to_space ? m.inputs[0] : m.outputs[0];
  const Strides& s = to_space ? m.outputs[0] : m.inputs[0];
  const std::int64_t depth = deep[1] / (block * block);
  const std::int64_t place = depth_last ? depth * d[1] : d[1],
                     channel = depth_last ? d[1] : block * block * d[1];
  const Strides deep_strides{d[0], channel, place * block, place, d[2], d[3]};
  const Strides space_strides{s[0], s[1], s[2], s[3], s[2] * block, s[3] * block};
  return one({{deep[0], depth, block, block, deep[2], deep[3]},
              to_space ? deep_strides : space_strides,
              to_space ? space_strides : deep_strides});
}

using Maker = Result (*)(const Movement&);

const std::map<std::string_view, Maker>& makers() {
  static const std::map<std::string_view, Maker> table = {
      {"transpose", transpose},
      {"reorder", reorder},
      {"slice", slice},
      {"concat", concat},
      {"split", split},
      {"pad", pad},
      {"expand", expand},
      {"tile", tile},
      {"depth_to_space", [](const Movement& m) { return space(m, true); }},
      {"space_to_depth", [](const Movement& m) { return space(m, false); }},
  };
  return table;
}

} // namespace

std::optional<std::vector<SliceAxis>> slice_axes(const GroupOp& op) {
  const auto starts = integers_of(op.input(1));
  if (!starts || (op.input(3) && !integers_of(op.input(3))) || (op.input(4) && !integers_of(op.input(4))))
    return std::nullopt;
  const Shape input = op.input(0).shape();
  Integers axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (op.input(3)) axes = *integers_of(op.input(3));
  if (op.input(4)) steps = *integers_of(op.input(4));
  std::vector<SliceAxis> result(input.rank());
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = from_front(axes[i], input.rank());
    const std::int64_t size = input[axis], start = (*starts)[i];
    result[axis].start = std::clamp<std::int64_t>(start < 0 ? (start < -size ? -1 : start + size) : start, 0,
                                                  steps[i] > 0 ? size : size - 1);
    result[axis].step = std::clamp<std::int64_t>(steps[i], -size - 1, size + 1);
  }
  return result;
}

std::optional<Moves> moves_of(const GroupOp& op, const std::vector<Strides>& inputs,
                              const std::vector<Strides>& outputs) {
  const auto maker = makers().find(op.kind());
  if (maker == makers().end()) return std::nullopt;
  auto moves = maker->second({op, inputs, outputs});
  if (!moves) return std::nullopt;
  for (Move& move : moves->moves) move.box = simplified(std::move(move.box));
  return moves;
}

std::size_t moved_inputs(const GroupOp& op) {
  if (!makers().contains(op.kind())) return 0;
  return op.kind() == "concat" ? op.inputs.size() : 1;
}

bool moves_whole_elements(const Group& group) {
  if (group.ops().size() != 1) return false;
  const GroupOp& op = group.ops().front();
  if (moved_inputs(op) == 0) return false;
  const std::size_t bits = bit_width(op.input(0).dtype());
  for (std::size_t i = 0; i < moved_inputs(op); ++i)
    if (!op.input(i)) return false;
  for (const auto& value : op.node->outputs())
    if (value->type.shape().elements() == 0) return false;
  return (bits == 8 || bits == 16 || bits == 32 || bits == 64) && op.input(0).shape().elements() > 0;
}

} // namespace lanner
