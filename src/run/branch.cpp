#include "run/branch.h"

#include <fmt/format.h>

#include "ops/control_flow.h"

namespace lanner {

Branch::Branch(const Step& step, const BodyMemory& memory) {
  const Node& node = *step.node;
  bodies_.reserve(node.regions().size());
  for (std::size_t r = 0; r < node.regions().size(); ++r)
    bodies_.emplace_back(step.bodies->list[r], *node.regions()[r], body_arenas(*step.bodies, memory));
}

void Branch::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                 const RunRequest& request) {
  const std::unique_ptr<Branch, void (*)(Branch*)> held(this, [](Branch* step) {
    for (BodyRun& body : step->bodies_) body.clear();
  });
  const Mover mover(request);
  const bool holds = ops::read_condition(mover.on(Device{}, view_of(inputs[0])), "if: condition");
  BodyRun& body = bodies_[holds ? 0 : 1];
  for (std::size_t i = 1; i < inputs.size(); ++i) body.give(i - 1, inputs[i], mover);
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
    if (!direct[k]) put(outputs[k], item_of(body.value(k), mover), fmt::format("if: output {}", k), mover);
}

} // namespace lanner
