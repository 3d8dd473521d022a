#include "builder/verification.h"

#include <algorithm>
#include <map>
#include <new>
#include <unordered_map>

#include <fmt/format.h>

#include <lanner/error.h>

#include "graph/op.h"
#include "lower/check/trial.h"
#include "lower/check/trusted_kernels.h"
#include "ops/interpreter/interpreter.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"
#include "program/program.h"

namespace lanner {
namespace {

/// A value's tensor in the interpreter's form.
Tensor plain(const Tensor& tensor, const Type& type) {
  return tensor.dtype() == DType::string ? tensor : pack(tensor, of_type(type.dtype()));
}

/// Calls `work`; failures count as the kernel's. Nothing on out of memory, which is not the kernel's fault.
template<typename Work>
std::optional<Verdict> verdict_of(Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    if (error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::limit_exceeded) return {};
    return Verdict{fmt::format("it fails: {}", error.message())};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

class Walk {
public:
  Walk(const VerifiedNetwork& network, const NodeTrials& trials, const Control& control)
      : program_(*network.made.program), constants_(network.state.constants()), trials_(trials),
        control_(control), quiet_{control.cancel, {}}, target_(network.state.target) {
    target_.threads = network.made.threads;
    for (const Step& step : program_.steps()) steps_[step.node] = &step;
  }

  NodeFindings run(std::span<const Item> inputs) {
    const Region& body = program_.graph().body();
    for (std::size_t i = 0; i < inputs.size(); ++i) hold(body.parameter(i), inputs[i]);
    double done = 0;
    for (const auto& node : body.nodes()) {
      control_.report({"verify", done++, static_cast<double>(body.nodes().size()), "nodes"});
      control_.cancel.check();
      visit(*node);
      for (const Value* input : node->inputs())
        if (input) used(input);
    }
    return std::move(found_);
  }

private:
  struct Held {
    Item item;
    std::size_t uses = 0;
  };

  void hold(const Value* value, Item item) {
    if (!value->unused()) held_[value] = {std::move(item), value->uses().size()};
  }

  void used(const Value* value) {
    const auto found = held_.find(value);
    if (--found->second.uses == 0) held_.erase(found);
  }

  void visit(const Node& node) {
    if (is_constant(node)) {
      const Value& value = *node.output();
      return hold(&value, plain(*value.constant(), value.type));
    }
    const auto step = steps_.find(&node);
    const OfferedTactic* offered = step == steps_.end() ? nullptr : step->second->offered;
    if (!offered || is_definition(*offered->backend)) {
      ++found_.defined;
      return give(node, define(node));
    }
    if (draws_anew(node)) {
      ++found_.skipped;
      return give(node, define(node));
    }
    give(node, compare(node, *step->second));
  }

  void give(const Node& node, std::vector<Item> results) {
    for (std::size_t i = 0; i < results.size(); ++i) hold(node.output(i), std::move(results[i]));
  }

  /// Separates failures of the definition from the kernel's.
  template<typename Call>
  auto defined(const Node& node, Call call) const {
    try {
      return call();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      throw DefinitionFailed(
          error.code(), fmt::format("node {} ({}): {}", node.label(), shown_kind(node), error.message()));
    }
  }

  std::vector<Item> define(const Node& node) const {
    std::vector<const Item*> arguments;
    for (const Value* input : node.inputs()) arguments.push_back(input ? &held_.at(input).item : nullptr);
    return defined(
        node, [&] { return run_node(node, arguments, {.threads = target_.threads, .control = &quiet_}); });
  }

  std::vector<Tensor> operands_of(const Node& node) const {
    std::vector<Tensor> operands;
    for (const Value* input : node.inputs())
      operands.push_back(input ? held_.at(input).item.tensor : Tensor{});
    return operands;
  }

  /// Copies of operands for a kernel, which might wrongly overwrite them. Constants are packed separately.
  static std::vector<Tensor> copies(const Node& node, std::vector<Tensor> operands) {
    std::map<const Value*, Tensor> made; // an operand read twice is one value
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Value* input = node.input(i);
      if (!input || input->constant()) continue;
      Tensor& copy = made[input];
      if (!copy.defined()) copy = operands[i].clone();
      operands[i] = copy;
    }
    return operands;
  }

  std::vector<Item> compare(const Node& node, const Step& step) {
    std::vector<Tensor> operands = operands_of(node);
    const Tactic& tactic = step.offered->tactic;
    TrialData data(node, copies(node, operands), target_.threads, quiet_);
    std::vector<Item> results;
    for (const Tensor& tensor : defined(node, [&] { return data.expected(tactic, node); }))
      results.emplace_back(tensor);
    const std::optional<Verdict> verdict = verdict_of([&] { return tried(node, step, data); });
    ++(verdict ? found_.nodes : found_.skipped);
    if (verdict && !verdict->right()) {
      found_.differences.push_back({node.output()->name(), shown_kind(node), node.tactic.kernel,
                                    node.tactic.backend, node.sources, verdict->wrong});
      if (!found_.first) found_.first = {&node, std::move(operands)};
    }
    return results;
  }

  Verdict tried(const Node& node, const Step& step, TrialData& data) {
    const Backend& backend = *step.offered->backend;
    const Target target = target_at(node, backend, target_);
    // The program owns the kernel and outlives this.
    const std::shared_ptr<const Kernel> kernel(std::shared_ptr<const void>{}, step.kernel);
    Trial trial({node, backend, step.offered->tactic, target}, data, constants_, kernel);
    if (Verdict verdict = trial.check(trials_.runs); !verdict.right() || trials_.contexts < 2) return verdict;
    // Different operands: otherwise contexts that wrongly share memory would still give right results.
    TrialData other(node, data);
    std::vector<std::unique_ptr<Trial>> twins;
    std::vector<Trial*> all{&trial};
    while (all.size() < trials_.contexts) {
      twins.push_back(trial.twin(other));
      twins.back()->run_alone();
      all.push_back(twins.back().get());
    }
    return side_by_side(all, trials_.runs);
  }

  const Program& program_;
  WeightStore& constants_;
  const NodeTrials& trials_;
  const Control& control_;
  const Control quiet_; ///< Progress is reported by node only.
  Target target_;
  std::unordered_map<const Node*, const Step*> steps_;
  std::unordered_map<const Value*, Held> held_;
  NodeFindings found_;
};

} // namespace

bool draws_anew(const Node& node) {
  if (!node.op().pure && !node.attributes.has("seed")) return true;
  return std::ranges::any_of(node.regions(), [](const auto& region) {
    return std::ranges::any_of(region->nodes(), [](const auto& inner) { return draws_anew(*inner); });
  });
}

NodeFindings verify_nodes(const VerifiedNetwork& network, std::span<const Item> inputs,
                          const NodeTrials& trials, const Control& control) {
  return Walk(network, trials, control).run(inputs);
}

} // namespace lanner
