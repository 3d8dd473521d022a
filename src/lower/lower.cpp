#include "lower/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "graph/op.h"
#include "graph/storage/quantization.h"
#include "graph/verifier.h"
#include "lower/check/trusted_kernels.h"
#include "lower/choose/cover.h"
#include "lower/emit/output_memory.h"
#include "lower/propose/alternatives.h"
#include "lower/propose/free_inputs.h"
#include "lower/propose/joins.h"
#include "lower/propose/quantized_weights.h"
#include "lower/propose/regions.h"
#include "lower/propose/row_sets.h"
#include "passes/pipeline.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/precision.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

/// The type in which kernels were asked to read a value, and its constant, if it is one.
struct Asked {
  Type type;
  const Tensor* constant = nullptr;
};

class Lowering {
public:
  Lowering(Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), conversion_costs_(graph, options) {}

  std::vector<NodeReport> run() {
    // With several devices a node's device is found by its name, which merged nodes would share.
    if (options_.target.devices().size() == 1)
      for (const Pass& pass : target_passes(options_.target.device.kind)) pass.run(graph_);
    const QuantizedWeights weights = QuantizedWeights::of(graph_, options_.constants);
    options_.constants.learn(graph_);
    gather_row_sets(graph_, options_.target.device);
    prepare_to_lower(graph_, options_);
    reports_ = lower_regions(graph_, options_);
    proposals_ = collect_alternatives(graph_, options_, weights);
    std::vector<Type> types;
    for (const Value* output : graph_.body().outputs()) types.push_back(output->type);
    apply(settled_cover());
    narrow_outputs(types);
    settle_outputs(graph_, options_, in_place_,
                   [this](Value* value, const Storage& storage, const std::string& name) {
                     return copied(value, storage, name);
                   });
    place_parts(graph_, in_place_,
                [this](Value& part, Node& before) { return copied_in_front(part, before); });
    drop_unused_constants();
    verify(graph_);
    return std::move(reports_);
  }

private:
  /// The cheapest cover by tactics that are right. Alternatives outside the first cover are timed before they
  /// are trusted, and each tactic is checked once.
  std::vector<Taken> settled_cover() {
    for (;;) {
      // Provisional costs were not measured, so they do not change the estimates.
      const Estimates estimates(proposals_);
      set_provisional_costs(proposals_, estimates, options_);
      std::vector<Taken> cover = cheapest_cover(proposals_, estimates, options_, conversion_costs_);
      if (settle_all(cover) && none_overwritten(cover)) return cover;
    }
  }

  /// Tactics that need a check come first, each kind slowest first, as there may not be time for all.
  bool settle_all(std::vector<Taken> cover) {
    const auto chosen = [&](const Taken& taken) -> const Alternative& {
      return proposals_[taken.proposal].list[taken.alternative];
    };
    const auto listed = std::stable_partition(cover.begin(), cover.end(), [&](const Taken& taken) {
      return chosen(taken).backend && !is_listed(chosen(taken));
    });
    const auto seconds = [&](const Taken& taken) { return chosen(taken).cost.seconds; };
    std::ranges::stable_sort(cover.begin(), listed, std::ranges::greater{}, seconds);
    std::ranges::stable_sort(listed, cover.end(), std::ranges::greater{}, seconds);
    const std::set<const Proposal*> changed = ask_and_time(cover);
    std::erase_if(cover, [&](const Taken& taken) { return changed.contains(&proposals_[taken.proposal]); });
    const Tuner::Preparing preparing = prepare_checks(cover);
    bool settled = changed.empty();
    for (const Taken& taken : cover) {
      settled = vet(proposals_[taken.proposal], taken.alternative) && settled;
      if (left_out_) break; // alternatives were renumbered
    }
    return !std::exchange(left_out_, false) && settled;
  }

  /// Asks for the alternatives of those that nobody asked for yet, and times those of the others that were
  /// not timed. Returns both: they may be covered in another way now.
  std::set<const Proposal*> ask_and_time(const std::vector<Taken>& cover) {
    const Tuner& tuner = options_.tuner;
    std::set<const Proposal*> changed;
    std::vector<Proposal*> untimed;
    for (const Taken& taken : cover) {
      Proposal& proposal = proposals_[taken.proposal];
      if (proposal.asked) {
        if (!proposal.timed && tuner.measures() && tuner.spent() < tuner.budget())
          untimed.push_back(&proposal);
        continue;
      }
      ask_for(proposal, options_);
      changed.insert(&proposal);
    }
    if (!untimed.empty()) time_proposals(untimed, options_);
    changed.insert(untimed.begin(), untimed.end());
    return changed;
  }

  Tuner::Preparing prepare_checks(const std::vector<Taken>& cover) {
    std::vector<Untried> nodes;
    for (const Taken& taken : cover) {
      const Proposal& proposal = proposals_[taken.proposal];
      const Alternative& one = proposal.list[taken.alternative];
      if (one.backend && one.cost.trust == Trust::none)
        nodes.push_back({proposal.node, {{one.backend, &one.tactic}}});
    }
    return options_.tuner.prepare(nodes, Tuner::For::check);
  }

  static bool is_listed(const Alternative& one) {
    return one.backend->trusts(one.tactic.kernel, lies_within(one.tactic));
  }

  /// Drops untrusted alternatives once there is no time left for checks, so that the next cover consists of
  /// usable ones.
  void leave_out_unlisted(const std::string& why) {
    left_out_ = true;
    for (Proposal& proposal : proposals_)
      for (std::size_t a = proposal.asked ? proposal.list.size() : 0; a-- > 0;)
        if (const Alternative& one = proposal.list[a];
            one.backend && one.cost.trust == Trust::none && !is_definition(*one.backend) && !is_listed(one))
          reject(proposal, a, why, options_);
  }

  bool vet(Proposal& proposal, std::size_t chosen) {
    Alternative& alternative = proposal.list[chosen];
    if (!alternative.backend || alternative.cost.trust != Trust::none) return true;
    options_.control.report({"check", static_cast<double>(options_.tuner.checks().kernels), 0, "kernels"});
    const std::size_t missed = options_.tuner.checks().missed;
    const Cost cost = options_.tuner.vet(*proposal.node, *alternative.backend, alternative.tactic);
    if (cost.wrong.empty()) {
      alternative.cost.trust = cost.trust;
      return true;
    }
    if (options_.tuner.checks().missed > missed)
      leave_out_unlisted(cost.wrong);
    else
      reject(proposal, chosen, cost.wrong, options_);
    return false;
  }

  /// What a kernel overwrites must not be read later by another group, which runs in the position of its last
  /// node.
  bool none_overwritten(const std::vector<Taken>& cover) {
    const std::map<const Node*, std::size_t> order = execution_order(graph_);
    std::map<const Node*, std::size_t> positions;
    for (const Taken& taken : cover)
      for (const Node* member : proposals_[taken.proposal].members)
        positions[member] = order.at(proposals_[taken.proposal].members.back());
    bool none = true;
    for (const Taken& taken : cover) {
      Proposal& proposal = proposals_[taken.proposal];
      const Tactic& tactic = proposal.list[taken.alternative].tactic;
      if (!tactic.required_in_place ||
          may_overwrite(proposal, static_cast<std::size_t>(tactic.in_place), positions, options_.callers))
        continue;
      reject(proposal, taken.alternative, "it overwrites a value that a later group reads", options_);
      none = false;
    }
    return none;
  }

  void apply(const std::vector<Taken>& cover) {
    settle_free_inputs(graph_, proposals_, cover, options_, conversion_costs_);
    const Readers readers = readers_of(cover);
    for (const Proposal& group : proposals_)
      if (group.is_group() && group.list.empty()) rejected_[group.members.back()].push_back(&group);
    for (const Taken& taken : cover) {
      options_.control.cancel.check();
      Proposal& proposal = proposals_[taken.proposal];
      if (options_.observe) options_.observe(proposal, taken.alternative);
      const Alternative& chosen = proposal.list[taken.alternative];
      Node& node = *placed(proposal, readers);
      // Scales first: other storages refer to them as the node reads them.
      for (const bool named : {false, true})
        for (std::size_t k = 0; k < node.inputs().size(); ++k)
          if (Value* value = node.inputs()[k]; value && !values_of(chosen.tactic.inputs[k]).empty() == named)
            node.set_input(k, stored(value, asked(proposal, k, *value),
                                     read_by(node, proposal, chosen.tactic.inputs[k]), &node));
      for (std::size_t k = 0; k < node.outputs().size(); ++k)
        node.output(k)->storage = read_by(node, proposal, chosen.tactic.outputs[k]);
      set_tactic(node, chosen);
      if (chosen.tactic.in_place >= 0)
        in_place_[&node] = {static_cast<std::size_t>(chosen.tactic.in_place),
                            chosen.tactic.required_in_place};
      report(node, proposal, taken.alternative);
    }
  }

  /// `storage` for `node`, its named values replaced by the node's own inputs.
  static Storage read_by(const Node& node, const Proposal& proposal, const Storage& storage) {
    const std::span<Value* const> asked = proposal.own ? proposal.node->inputs() : proposal.inputs;
    return with_values(storage, [&](Value* value) {
      const auto found = std::ranges::find(asked, value);
      return found == asked.end() ? value : node.input(static_cast<std::size_t>(found - asked.begin()));
    });
  }

  /// A chosen alternative that reads a value as one of its inputs; without an input, the one whose storage
  /// names the value.
  struct Reader {
    Taken taken;
    std::optional<std::size_t> input;
  };
  using Readers = std::map<const Value*, std::vector<Reader>>;

  Readers readers_of(const std::vector<Taken>& cover) const {
    Readers readers;
    for (const Taken& taken : cover) {
      const Proposal& proposal = proposals_[taken.proposal];
      for (std::size_t i = 0; i < proposal.inputs.size(); ++i)
        readers[proposal.inputs[i]].push_back({taken, i});
      const Tactic& tactic = proposal.list[taken.alternative].tactic;
      for (const std::vector<Storage>* storages : {&tactic.inputs, &tactic.outputs})
        for (const Storage& storage : *storages)
          for (const Value* value : values_of(storage)) readers[value].push_back({taken, std::nullopt});
    }
    return readers;
  }

  /// The graph's node for it.
  Node* placed(const Proposal& proposal, const Readers& readers) {
    if (!proposal.own) return proposal.node;
    std::vector<Type> types;
    for (const Value* output : proposal.outputs) types.push_back(type_of(*output));
    Node* made = replace(proposal.members, *proposal.node, proposal.inputs);
    for (const Value* output : proposal.outputs)
      if (const auto reading = readers.find(output); reading != readers.end())
        for (const Reader& reader : reading->second) read_new(reader, proposal.outputs, *made);
    for (std::size_t o = 0; o < types.size(); ++o)
      if (made->output(o)->type != types[o]) narrow_types_.emplace(made->output(o), types[o]);
    return made;
  }

  /// Redirects later readers to the outputs of the node that replaced a group.
  void read_new(const Reader& reader, const std::vector<Value*>& old, const Node& made) {
    const auto renewed = [&](Value* value) {
      const auto found = std::ranges::find(old, value);
      return value && found != old.end() ? made.output(static_cast<std::size_t>(found - old.begin())) : value;
    };
    Proposal& proposal = proposals_[reader.taken.proposal];
    if (reader.input) {
      Value*& input = proposal.inputs[*reader.input];
      input = renewed(input);
      return;
    }
    if (proposal.own) return;
    Tactic& tactic = proposal.list[reader.taken.alternative].tactic;
    for (std::vector<Storage>* storages : {&tactic.inputs, &tactic.outputs})
      for (Storage& storage : *storages)
        if (storage.quantization) storage = with_values(std::move(storage), renewed);
  }

  /// The model's type of a value that was promoted.
  const Type& type_of(const Value& value) const {
    const auto narrow = narrow_types_.find(&value);
    return narrow == narrow_types_.end() ? value.type : narrow->second;
  }

  /// The form in which kernels were asked to read input `k`.
  Asked asked(const Proposal& proposal, std::size_t k, const Value& value) const {
    if (!proposal.own) return {type_of(value), value.constant()};
    const Value& input = *proposal.node->input(k);
    return {input.type, input.constant()};
  }

  /// Restores the outputs' types, stored as callers ask.
  void narrow_outputs(const std::vector<Type>& types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      Value* output = graph_.body().outputs()[i];
      if (output->type == types[i]) continue;
      const Storage storage =
          settled_storage(options_.callers.output(i), output->storage, types[i], options_.target.device);
      graph_.body().set_output(i, stored(output, {types[i], nullptr}, storage, nullptr));
    }
  }

  /// A copy of the value in its own memory, made before `before`.
  Value* copied_in_front(Value& value, Node& before) {
    Storage storage = value.storage;
    storage.parent = nullptr;
    storage.offset = 0;
    Value* copy =
        graph_.emit("reorder", conversion_inputs(value, storage), {}, value.type, value.name(), &before);
    copy->storage = std::move(storage);
    choose_conversion(*copy->producer());
    return copy;
  }

  static void set_tactic(Node& node, const Alternative& chosen) {
    node.tactic.backend = chosen.backend ? std::string(chosen.backend->name()) : chosen.tactic.kernel;
    node.tactic.kernel = chosen.tactic.kernel;
    node.tactic.config = chosen.tactic.config;
    node.tactic.seconds = chosen.cost.measured ? chosen.cost.seconds : 0;
  }

  void report(const Node& node, const Proposal& taken, std::size_t chosen) {
    NodeReport report{node.output()->name(), {}, taken.notes};
    // A rejected group is reported with the node that would have been its last.
    if (const auto rejected = rejected_.find(taken.members.back()); rejected != rejected_.end())
      for (const Proposal* group : rejected->second)
        for (const std::string& note : group->notes)
          report.notes.push_back(fmt::format("{}: {}", shown_kind(*group->node), note));
    for (std::size_t a = 0; a < taken.list.size(); ++a) {
      const Alternative& alternative = taken.list[a];
      const std::string in =
          alternative.tactic.inputs.empty() ? "" : alternative.tactic.inputs[0].to_string() + " -> ";
      report.considered.push_back(
          {alternative.backend ? std::string(alternative.backend->name()) : "", alternative.tactic.kernel,
           in + alternative.tactic.outputs.at(0).to_string(), alternative.cost.seconds,
           alternative.cost.measured, a == chosen, alternative.cost.trust});
    }
    std::ranges::stable_sort(report.considered, {}, &Considered::seconds);
    reports_.push_back(std::move(report));
  }

  /// `value` in the type and storage asked for: itself, a packed constant, or what is made of it before
  /// `reader`.
  Value* stored(Value* value, const Asked& asked, const Storage& storage, Node* reader) {
    const Type& type = asked.type;
    if (!value->type.is_static()) return value;
    if (asked.constant && by_constants(storage)) return packed(*value, asked, storage);
    if (value->type != type) {
      if (conversion_costs_.casts_first({value->type, value->storage}, {type, storage}))
        return stored(converted(value, "cast", type, value->storage, reader), asked, storage, reader);
      value = stored(value, {value->type, nullptr}, storage, reader);
      return converted(value, "cast", type, storage, reader);
    }
    if (same_storage(type, value->storage, storage)) return value;
    if (const Storage middle = staging(type, value->storage, storage);
        !same_storage(type, middle, value->storage) && !same_storage(type, middle, storage))
      return stored(stored(value, asked, middle, reader), asked, storage, reader);
    return converted(value, "reorder", type, storage, reader);
  }

  /// Whether scales and zero points are all constants.
  static bool by_constants(const Storage& storage) {
    return std::ranges::all_of(values_of(storage), [](const Value* value) { return value->constant(); });
  }

  Value* packed(Value& value, const Asked& asked, const Storage& storage) {
    if (value.type == asked.type && same_storage(asked.type, value.storage, storage)) return &value;
    Value*& made = stored_[{&value, lowered_key(asked.type, storage)}];
    if (made) return made;
    made = graph_.constant(options_.constants.get(*asked.constant, storage), value.name(), value.producer());
    made->type = asked.type;
    made->producer()->sources = value.producer()->sources;
    made->storage = storage;
    return made;
  }

  Value* converted(Value* value, std::string_view kind, const Type& type, const Storage& storage,
                   Node* reader) {
    Value*& made = stored_[{value, lowered_key(type, storage)}];
    if (made) return made;
    made = graph_.emit(kind, conversion_inputs(*value, storage), conversion_attributes(kind, type), type,
                       value->name(), reader);
    made->storage = storage;
    choose_conversion(*made->producer());
    return made;
  }

  static std::string lowered_key(const Type& type, const Storage& storage) {
    return fmt::format("{} {}", to_string(type.dtype()), storage.to_string());
  }

  void choose_conversion(Node& conversion) {
    const auto best = vetted_conversion(conversion, options_);
    NodeReport report{conversion.output()->name(), {}, {}};
    if (best) {
      set_tactic(conversion, *best);
      report.considered.push_back(
          {std::string(best->backend->name()), best->tactic.kernel,
           conversion.input(0)->storage.to_string() + " -> " + conversion.output()->storage.to_string(),
           best->cost.seconds, best->cost.measured, true, best->cost.trust});
    } else {
      conversion.tactic.backend = conversion.tactic.kernel = interpreter_backend;
    }
    reports_.push_back(std::move(report));
  }

  /// A copy of `value` at the end of the graph.
  Value* copied(Value* value, const Storage& storage, const std::string& name) {
    Storage middle = staging(value->type, value->storage, storage);
    while (!same_storage(value->type, middle, storage) &&
           !same_storage(value->type, middle, value->storage)) {
      value = stored(value, {value->type, value->constant()}, middle, nullptr);
      middle = staging(value->type, value->storage, storage);
    }
    Value* copy = graph_.emit("reorder", conversion_inputs(*value, storage), {}, value->type, name);
    copy->storage = storage;
    choose_conversion(*copy->producer());
    return copy;
  }

  void drop_unused_constants() {
    std::set<const Value*> scales;
    for (const auto& node : graph_.body().nodes())
      for (const auto& output : node->outputs())
        if (!is_constant(*node) || !output->unused())
          for (const Value* value : values_of(output->storage)) scales.insert(value);
    std::vector<Node*> unused;
    for (const auto& node : graph_.body().nodes())
      if (is_constant(*node) && node->output()->unused() && !scales.contains(node->output()))
        unused.push_back(node.get());
    for (Node* node : unused) graph_.body().erase(node);
  }

  Graph& graph_;
  const LowerOptions& options_;
  ConversionCosts conversion_costs_;
  std::vector<Proposal> proposals_;
  std::vector<NodeReport> reports_;
  std::map<const Node*, std::vector<const Proposal*>> rejected_; ///< Groups without a kernel, by last node.
  std::map<const Value*, Type> narrow_types_;                    ///< Of promoted values.
  std::map<std::pair<const Value*, std::string>, Value*> stored_;
  InPlaceKernels in_place_;
  bool left_out_ = false; ///< Whether alternatives were dropped from proposals not settled yet.
};

} // namespace

void prepare_to_lower(Graph& graph, const LowerOptions& options) {
  for (const auto& parameter : graph.body().parameters())
    if (is_planned(*parameter))
      parameter->storage =
          storage_of(options.callers.input(parameter->index()), parameter->type, options.target.device);
  options.constants.learn(graph);
}

Lowered lower(std::unique_ptr<Graph> graph, const LowerOptions& options) {
  std::vector<NodeReport> reports = Lowering(*graph, options).run();
  check_strict(*graph, options.target);
  check_strict_placement(*graph, options.target);
  return {std::move(graph), std::move(reports)};
}

} // namespace lanner
