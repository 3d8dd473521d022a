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
    for (SubprogramRun& body : step->subprograms_) body.clear();
  });
  const Transfers transfers(request);
  const bool holds = ops::read_condition(transfers.on(Device{}, view_of(inputs[0])), "if: condition");
  SubprogramRun& body = subprograms_[holds ? 0 : 1];
  for (std::size_t i = 1; i < inputs.size(); ++i) body.give(i - 1, inputs[i], transfers);
  // A value that leaves twice is written once and copied.
  std::vector<bool> direct(outputs.size(), false), placed(outputs.size(), false);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!body.writes_memory(k)) continue;
    const std::uint32_t index = body.result(k).index;
    if (placed[index]) continue;
    direct[k] = placed[index] =
        outputs[k].memory && outputs[k].device == body.device() && *outputs[k].type == body.type(k);
    body.write_to(k, direct[k] ? outputs[k].memory : nullptr);
  }
  body.run(request);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (!direct[k])
      put(outputs[k], item_of(body.value(k), transfers), fmt::format("if: output {}", k), transfers);
}

} // namespace lanner
