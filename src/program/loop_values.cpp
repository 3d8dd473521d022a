#include "program/loop_values.h"

#include "ops/control/control_flow.h"
#include "ops/definition/axis.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/memory/memory.h"

namespace lanner {
namespace {

/// Whether elements have whole bytes.
bool whole_bytes(const Type& type) {
  return bit_width(type.dtype()) % 8 == 0;
}

class Planner {
public:
  Planner(const Node& node, Device device) : node_(node), region_(*node.regions().front()), device_(device) {}

  LoopValues loop() {
    values_.counted = true;
    if (!device_.is_host())
      for (std::uint64_t* offset : {&values_.iteration, &values_.condition, &values_.next})
        *offset = buffer(sizeof(std::int64_t));
    const std::size_t inputs = node_.own_inputs().size(), count = inputs > 2 ? inputs - 2 : 0;
    for (std::size_t i = 0; i < count; ++i) carry({i + 2, i + 2, i + 1, i});
    for (std::size_t i = count; i < node_.outputs().size(); ++i) stack({i + 1, i});
    return std::move(values_);
  }

  LoopValues scan() {
    const ops::ScanPlan plan =
        ops::plan_scan(node_.attributes, node_.own_inputs().size(), node_.outputs().size());
    for (std::size_t i = 0; i < plan.states; ++i) carry({i, i, i, i});
    for (std::size_t i = 0; i < plan.scanned; ++i)
      take({plan.states + i, plan.states + i, plan.input_axes[i], plan.input_directions[i] != 0});
    for (std::size_t i = 0; i < plan.stacked; ++i)
      stack({plan.states + i, plan.states + i, plan.output_axes[i], plan.output_directions[i] != 0});
    return std::move(values_);
  }

private:
  void carry(LoopValues::Carried carried) {
    const Value* input = node_.input(carried.input);
    const Value& parameter = *region_.parameter(carried.parameter);
    const Value& result = *region_.outputs()[carried.result];
    const Value& output = *node_.output(carried.output);
    carried.in_memory = input && is_planned(parameter) && input->type == parameter.type &&
                        result.type == parameter.type && output.type == parameter.type;
    if (carried.in_memory) {
      carried.bytes = storage_bytes(parameter);
      carried.buffer = buffer(carried.bytes);
    }
    values_.carried.push_back(carried);
  }

  /// `slices` is a Scanned or a Stacked, `one` the slice of one iteration.
  template<typename Slices>
  void lay_out(Slices& slices, const Value& one) {
    slices.in_memory = is_planned(one) && whole_bytes(one.type);
    if (!slices.in_memory) return;
    slices.bytes = storage_bytes(one);
    slices.contiguous = ops::resolve_axis(slices.axis, one.type.rank() + 1) == 0 &&
                        (device_.is_host() || slices.bytes % gpu_alignment == 0);
    if (!slices.contiguous) slices.buffer = buffer(slices.bytes);
  }

  void take(LoopValues::Scanned scanned) {
    const Value& parameter = *region_.parameter(scanned.parameter);
    lay_out(scanned, parameter);
    values_.scanned.push_back(scanned);
  }

  void stack(LoopValues::Stacked stacked) {
    const Value& result = *region_.outputs()[stacked.result];
    lay_out(stacked, result);
    values_.stacked.push_back(stacked);
  }

  std::uint64_t buffer(std::uint64_t bytes) {
    const std::uint64_t offset = values_.workspace;
    values_.workspace = add_aligned(offset, bytes);
    return offset;
  }

  const Node& node_;
  const Region& region_;
  const Device device_;
  LoopValues values_;
};

} // namespace

LoopValues loop_values_of(const Node& node, Device device) {
  return ops::is_loop(node) ? Planner(node, device).loop() : Planner(node, device).scan();
}

} // namespace lanner
