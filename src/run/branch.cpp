#include "run/branch.h"

#include <fmt/format.h>

#include "ops/control/control_flow.h"

namespace lanner {

Branch::Branch(const Step& step, const SubprogramMemory& memory) {
  const Node& node = *step.node;
  subprograms_.reserve(node.regions().size());
  for (std::size_t r = 0; r < node.regions().size(); ++r)
    subprograms_.emplace_back(step.subprograms->list[r], *node.regions()[r],
                              subprogram_arenas(*step.subprograms, memory));
}

void Branch::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                 const RunRequest& request) {
  const std::unique_ptr<Branch, void (*)(Branch*)> held(this, [](Branch* step) {
    for (SubprogramRun& subprogram : step->subprograms_) subprogram.clear();
  });
  const Transfers transfers(request);
  const bool holds = ops::read_condition(transfers.on(Device{}, view_of(inputs[0])), "if: condition");
  SubprogramRun& subprogram = subprograms_[holds ? 0 : 1];
  for (std::size_t i = 1; i < inputs.size(); ++i) subprogram.give(i - 1, inputs[i], transfers);
  // A value that is two outputs is written once and copied.
  std::vector<bool> direct(outputs.size(), false), placed(outputs.size(), false);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!subprogram.writes_memory(k)) continue;
    const std::uint32_t index = subprogram.result(k).index;
    if (placed[index]) continue;
    direct[k] = placed[index] = outputs[k].memory && outputs[k].device == subprogram.device() &&
                                *outputs[k].type == subprogram.type(k);
    subprogram.write_to(k, direct[k] ? outputs[k].memory : nullptr);
  }
  subprogram.run(request);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (!direct[k])
      put(outputs[k], item_of(subprogram.value(k), transfers), fmt::format("if: output {}", k), transfers);
}

} // namespace lanner
