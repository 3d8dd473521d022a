#include "plan/turns.h"

#include "ops/axis.h"
#include "ops/control_flow.h"
#include "ops/named.h"
#include "plan/lowered.h"
#include "plan/memory.h"

namespace lanner {
namespace {

/// Elements that begin at a byte of their own.
bool whole_bytes(const Type& type) {
  return bit_width(type.dtype()) % 8 == 0;
}

class Planner {
public:
  Planner(const Node& node, Device device) : node_(node), region_(*node.regions().front()), device_(device) {}

  Turns loop() {
    turns_.counted = true;
    if (!device_.is_host())
      for (std::uint64_t* place : {&turns_.turn, &turns_.condition, &turns_.next})
        *place = buffer(sizeof(std::int64_t));
    const std::size_t inputs = node_.own_inputs().size(), count = inputs > 2 ? inputs - 2 : 0;
    for (std::size_t i = 0; i < count; ++i) carry({i + 2, i + 2, i + 1, i});
    for (std::size_t i = count; i < node_.outputs().size(); ++i) stack({i + 1, i});
    return std::move(turns_);
  }

  Turns scan() {
    const ops::ScanPlan plan =
        ops::plan_scan(node_.attributes, node_.own_inputs().size(), node_.outputs().size());
    for (std::size_t i = 0; i < plan.states; ++i) carry({i, i, i, i});
    for (std::size_t i = 0; i < plan.scanned; ++i)
      take({plan.states + i, plan.states + i, plan.input_axes[i], plan.input_directions[i] != 0});
    for (std::size_t i = 0; i < plan.stacked; ++i)
      stack({plan.states + i, plan.states + i, plan.output_axes[i], plan.output_directions[i] != 0});
    return std::move(turns_);
  }

private:
  void carry(Turns::Carried carried) {
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
    turns_.carried.push_back(carried);
  }

  /// `slices` is a Scanned or a Stacked, `one` what a turn takes or gives.
  template<typename Slices>
  void lay_out(Slices& slices, const Value& one) {
    slices.in_memory = is_planned(one) && whole_bytes(one.type);
    if (!slices.in_memory) return;
    slices.bytes = storage_bytes(one);
    slices.contiguous = ops::resolve_axis(slices.axis, one.type.rank() + 1) == 0 &&
                        (device_.is_host() || slices.bytes % gpu_alignment == 0);
    if (!slices.contiguous) slices.buffer = buffer(slices.bytes);
  }

  void take(Turns::Scanned scanned) {
    const Value& parameter = *region_.parameter(scanned.parameter);
    lay_out(scanned, parameter);
    turns_.scanned.push_back(scanned);
  }

  void stack(Turns::Stacked stacked) {
    const Value& result = *region_.outputs()[stacked.result];
    lay_out(stacked, result);
    turns_.stacked.push_back(stacked);
  }

  std::uint64_t buffer(std::uint64_t bytes) {
    const std::uint64_t offset = turns_.workspace;
    turns_.workspace = add_aligned(offset, bytes);
    return offset;
  }

  const Node& node_;
  const Region& region_;
  const Device device_;
  Turns turns_;
};

} // namespace

Turns turns_of(const Node& node, Device device) {
  return ops::is_loop(node) ? Planner(node, device).loop() : Planner(node, device).scan();
}

} // namespace lanner
