#include "program/program.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "program/late_kernel.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/step_checks.h"
#include "program/lowered/work.h"
#include "program/memory/buffers.h"
#include "program/memory/memory.h"
#include "program/memory/memory_uses.h"
#include "program/memory/placement.h"
#include "program/schedule.h"
#include "program/segments.h"
#include "program/side_by_side.h"

namespace lanner {

/// Builds a Program in one pass for steps and one for memory.
class Program::Builder {
public:
  Builder(Program& program, std::span<const Backend* const> backends, const Target& target,
          WeightStore& constants, const CallerMemory& callers, const Program* bound)
      : program_(program), graph_(*program.graph_), backends_(backends), target_(target),
        constants_(constants), callers_(callers), with_aliases_(callers), bound_(bound) {
    with_aliases_.overwritable.resize(graph_.body().parameters().size());
    for (const CallerMemory::Alias& alias : callers_.aliases)
      with_aliases_.overwritable.at(alias.input) = true;
  }

  void run() {
    node_order_ = execution_order(graph_);
    several_ = program_.devices_.size() > 1;
    spread_ = several_ ||
              (!target_.device.is_host() && std::ranges::any_of(graph_.body().nodes(), [](const auto& node) {
                return node->stream() != 0;
              }));
    check_joins(graph_);
    buffers_.add_parts(graph_);
    place_inputs();
    place_constants();
    make_kernels();
    for (const auto& node : graph_.body().nodes())
      if (!is_constant(*node)) prepare(*node);
    uses_ = MemoryUses(program_.steps_, buffers_);
    mark_outputs();
    settle_order();
    place_values();
    bind_steps();
    place_results();
    cut_segments();
  }

private:
  void place_inputs() {
    std::uint32_t index = 0;
    for (const auto& parameter : graph_.body().parameters()) {
      const Value* value = parameter.get();
      const bool planned = is_planned(*value);
      check(planned ? held_right(*value, callers_.input(index)) : value->storage.is_default(),
            ErrorCode::bad_data, "input {} is not on {} in the storage that the caller gives", value->name(),
            target_.device.to_string());
      locations_[value] = planned ? ValueLocation{ValueLocation::Kind::input, index, 0}
                                  : ValueLocation{ValueLocation::Kind::item, program_.items_++, 0};
      program_.input_items_.push_back(planned ? ValueLocation{} : locations_[value]);
      ++index;
    }
  }

  bool held_right(const Value& value, const HeldStorage& held) const {
    return same_storage(value.type, value.storage,
                        settled_storage(held, value.storage, value.type, target_.device));
  }

  void place_constants() {
    for (const auto& node : graph_.body().nodes()) {
      if (!is_constant(*node)) continue;
      locations_[node->output()] = {ValueLocation::Kind::constant,
                                    static_cast<std::uint32_t>(program_.constants_.size()), 0};
      check_stored(*node->output(), target_);
      program_.constants_.push_back(*node->output()->constant());
    }
  }

  struct ReadyKernel {
    std::unique_ptr<const OfferedTactic> offered;
    std::unique_ptr<Kernel> kernel;
  };

  static bool has_kernel(const Node& node) {
    const std::string& backend = node.tactic.backend;
    return !is_constant(node) && backend != alias_backend && backend != interpreter_backend &&
           backend != program_backend;
  }

  void make_kernels() {
    std::vector<const Node*> nodes;
    for (const auto& node : graph_.body().nodes())
      if (has_kernel(*node)) nodes.push_back(node.get());
    for (const Node* node : nodes) ready_[node];
    side_by_side(nodes, making_threads(target_), [&](std::size_t i) {
      check_deadline();
      with_context([&] { return "node " + nodes[i]->label(); },
                   [&] { make_kernel(*nodes[i], ready_.at(nodes[i])); });
    });
  }

  void prepare(Node& node) {
    check_deadline();
    if (node.tactic.backend == alias_backend) return buffers_.add_view(node);
    Step made;
    made.node = &node;
    made.bytes = bytes_of(node);
    made.flops = flops_of(node);
    std::size_t workspace = 0;
    if (node.tactic.backend == interpreter_backend) {
      check_plain(node, target_.device);
      compile_late_kernel(node, backends_, target_);
    } else if (node.tactic.backend == program_backend) {
      program_.subprograms_.push_back(std::make_unique<const Subprograms>(subprograms_for(node)));
      made.subprograms = program_.subprograms_.back().get();
      check_plain(node, target_.device);
      check_reached(node, *made.subprograms);
      workspace = made.subprograms->workspace;
      // Control values are read on the host.
      made.on_stream = !several_ && !made.subprograms->device.is_host() && made.subprograms->rows;
    } else {
      ReadyKernel& ready = ready_.at(&node);
      program_.offered_.push_back(std::move(ready.offered));
      program_.kernels_.push_back(std::move(ready.kernel));
      const OfferedTactic& offered = *program_.offered_.back();
      made.kernel = program_.kernels_.back().get();
      made.offered = &offered;
      workspace = made.kernel->workspace();
      made.on_stream = made.kernel->on_stream();
      check_devices(node, made.on_stream, target_);
    }
    if (several_ && made.on_stream)
      made.stream =
          static_cast<int>(number_of(device_of(*made.offered->backend, made.offered->tactic, target_)));
    else if (spread_ && is_recorded(made))
      made.stream = node.stream();
    add_in_order(order_, accesses_, made, false);
    if (made.offered) share(node, made.offered->tactic);
    note(accesses_, made, program_.steps_.size());
    workspaces_.push_back(workspace);
    program_.steps_.push_back(made);
  }

  Subprograms subprograms_for(const Node& node) const {
    return with_context([&] { return "node " + node.label(); },
                        [&] { return make_subprograms(node, backends_, target_, constants_); });
  }

  OfferedTactic offered_for(const Node& node) const {
    check_sizes_known(node);
    auto offered = find_offered(node, backends_, target_);
    check(offered.has_value(), ErrorCode::unsupported, "no backend here offers kernel {}:{} for {} threads",
          node.tactic.backend, node.tactic.kernel, target_.threads);
    return std::move(*offered);
  }

  void make_kernel(const Node& node, ReadyKernel& ready) const {
    ready.offered = std::make_unique<const OfferedTactic>(offered_for(node));
    std::vector<const Tensor*> constants;
    for (const Value* input : node.inputs()) constants.push_back(input ? input->constant() : nullptr);
    const Backend& backend = *ready.offered->backend;
    ready.kernel = backend.prepare(node, ready.offered->tactic, constants, target_at(node, backend, target_));
  }

  /// Memory that a step reads and, where `writes`, writes. Items and constants are never overwritten.
  std::vector<Access> accesses_of(const Node& node, bool writes) const {
    std::vector<Access> list;
    const auto add = [&](const Value* value, bool write) {
      if (!value || value->constant() || !is_planned(*value)) return;
      const Buffer where = buffers_.of(value);
      const auto found = locations_.find(where.root);
      const bool callers = found != locations_.end() && found->second.kind == ValueLocation::Kind::input;
      const Value* memory = callers ? graph_.body().parameter(found->second.index) : where.root;
      const DType type = value->storage.dtype.value_or(value->type.dtype());
      list.push_back({memory, where.offset, where.offset + storage_bytes(*value), write,
                      memory_slices_of(value->storage, value->type.shape(), type)});
    };
    for (const Value* input : node.inputs()) add(input, false);
    if (writes)
      for (const auto& output : node.outputs()) add(output.get(), true);
    return list;
  }

  /// Adds the next step after those whose memory it needs; a host step comes after all, and on one device so
  /// does a step that is not recorded.
  void add_in_order(StepOrder& order, const Accesses& before, const Step& step, bool writes) const {
    if (several_ ? !step.on_stream : !is_recorded(step)) return order.add_barrier();
    std::vector<std::size_t> behind;
    if (spread_)
      for (const Access& access : accesses_of(*step.node, writes)) before.conflicts(access, behind);
    order.add(step.stream, behind);
  }

  void note(Accesses& accesses, const Step& step, std::size_t number) const {
    if (!spread_) return;
    for (const Access& access : accesses_of(*step.node, true)) accesses.note(access, number);
  }

  /// Whether all previous users of the memory have ended when the current step begins.
  bool ended(const Buffer& buffer, std::uint64_t bytes) const {
    std::vector<std::size_t> users;
    accesses_.conflicts({buffer.root, buffer.offset, buffer.offset + bytes, true}, users);
    return std::ranges::all_of(users,
                               [&](std::size_t step) { return order_.before(step, order_.steps() - 1); });
  }

  /// In-place writes, and writes over inputs, come after all readers of that memory: this settles the order
  /// of steps and the lifetime of each memory.
  void settle_order() {
    if (spread_) {
      StepOrder order;
      Accesses accesses;
      for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
        check_deadline();
        add_in_order(order, accesses, program_.steps_[s], true);
        note(accesses, program_.steps_[s], s);
      }
      order_ = std::move(order);
    }
    for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
      const Node& node = *program_.steps_[s].node;
      for (const Value* input : node.inputs())
        if (input && !input->constant()) order_.touch(lives_[buffers_.of(input).root], s);
      for (const auto& output : node.outputs()) order_.touch(lives_[buffers_.of(output.get()).root], s);
    }
  }

  /// Output 0 uses an input's memory where the tactic wants that and nothing else needs it.
  void share(const Node& node, const Tactic& tactic) {
    if (tactic.in_place < 0) return;
    const auto i = static_cast<std::size_t>(tactic.in_place);
    const bool fits = node.input(i) && storage_bytes(*node.input(i)) == storage_bytes(*node.output());
    // In joined memory, whose other parts' readers are not checked, only what must work in place does. Nor
    // does a stream wait for another just to save memory.
    const bool apart = node.input(i) && !buffers_.holds_parts(buffers_.of(node.input(i)).root) &&
                       (!fits || ended(buffers_.of(node.input(i)), storage_bytes(*node.input(i))));
    const bool allowed = fits && may_hold(*buffers_.of(node.input(i)).root, *node.output()) &&
                         may_overwrite(node, i, node_order_, allowing(node)) &&
                         !node.output()->storage.parent && (apart || tactic.required_in_place);
    check(allowed || !tactic.required_in_place, ErrorCode::bad_data,
          "node {}: kernel {} would overwrite a value that is still needed", node.label(), tactic.kernel);
    if (allowed) buffers_.share(node.output(), node.input(i));
  }

  /// Whether the memory of `root`, its own or that of the input that it aliases, may hold the output.
  bool may_hold(const Value& root, const Value& value) const {
    const auto number = output_number(value);
    if (!number) return true;
    const CallerMemory::Alias* alias = callers_.alias_of_output(*number);
    if (alias && &root == graph_.body().parameter(alias->input)) return true;
    return root.producer() && (!alias || !alias->required);
  }

  /// The memory that a kernel may overwrite: for one that writes an alias, also the input's.
  const CallerMemory& allowing(const Node& node) const {
    const auto number = output_number(*node.output());
    return number && callers_.alias_of_output(*number) ? with_aliases_ : callers_;
  }

  void place_values() {
    std::vector<const Value*> values;
    for (const auto& node : graph_.body().nodes()) {
      if (is_constant(*node)) continue;
      for (const auto& output : node->outputs()) values.push_back(output.get());
    }
    std::vector<Arena> on_device;
    while (on_device.size() < program_.devices_.size())
      on_device.push_back({ValueLocation::Kind::arena, static_cast<std::uint32_t>(on_device.size()), {}, {}});
    Arena host{ValueLocation::Kind::host_arena, 0, {}, {}};
    for (const Value* value : values) {
      if (!is_planned(*value)) {
        locations_[value] = {ValueLocation::Kind::item, program_.items_++, 0};
        continue;
      }
      const Value* root = buffers_.of(value).root;
      if (locations_.contains(root)) continue;
      const bool beside = root->storage.device.is_host() && !target_.device.is_host();
      ask(beside ? host : on_device[number_of(root->storage.device)], root, value);
    }
    lend_inputs(on_device.front());
    static const ArenaLayout none;
    const bool bounds = bound_ && bound_->devices_ == program_.devices_;
    for (Arena& arena : on_device)
      program_.arenas_.push_back(settle(arena, bounds ? bound_->arenas_[arena.device] : none));
    program_.host_arena_bytes_ = settle(host, none).plan.bytes;
    for (const Value* value : values) {
      if (!is_planned(*value) || locations_.contains(value)) continue;
      const Buffer where = buffers_.of(value);
      locations_[value] = locations_.at(where.root);
      locations_[value].offset += where.offset;
    }
  }

  /// Buffers that share one block of memory.
  struct Arena {
    ValueLocation::Kind kind;
    std::uint32_t device; ///< Its number.
    std::vector<BufferRequest> requests;
    std::map<const Value*, std::size_t> request_of;
  };

  /// Index of a device of the program; other devices were rejected.
  std::size_t number_of(Device device) const {
    const auto found = std::ranges::find(program_.devices_, device);
    check(found != program_.devices_.end(), ErrorCode::bad_data,
          "a value is stored on {}, the plan is for {}", device.to_string(), devices_text(program_.devices_));
    return static_cast<std::size_t>(found - program_.devices_.begin());
  }

  void ask(Arena& arena, const Value* root, const Value* value) {
    const auto [entry, fresh] = arena.request_of.emplace(root, arena.requests.size());
    if (fresh) arena.requests.push_back({storage_bytes(*root), lives_[root]});
    BufferRequest& request = arena.requests[entry->second];
    request.bytes = std::max(request.bytes, storage_bytes(*value));
  }

  /// Puts buffers that live after the last reader of an overwritable input into its memory.
  void lend_inputs(Arena& arena) {
    std::vector<const Value*> roots(arena.requests.size());
    for (const auto& [root, request] : arena.request_of) roots[request] = root;
    std::uint32_t index = 0;
    std::uint64_t work = 0; // bounds inputs times buffers
    for (const auto& input : graph_.body().parameters()) {
      const std::uint32_t number = index++;
      if (!callers_.may_write(number) || callers_.alias_of_input(number) || !is_planned(*input)) continue;
      if ((work += arena.requests.size()) > most_arena_looks) break;
      std::vector<BufferRequest> wanted = arena.requests;
      for (std::size_t r = 0; r < wanted.size(); ++r)
        if (!fits_behind(*roots[r], wanted[r], *input)) wanted[r].bytes = 0;
      const auto offsets = fit_into(wanted, storage_bytes(*input), alignment());
      for (std::size_t r = 0; r < offsets.size(); ++r) {
        if (!offsets[r]) continue;
        locations_[roots[r]] = {ValueLocation::Kind::input, number, *offsets[r]};
        arena.requests[r].bytes = 0;
      }
    }
  }

  /// A caller's memory is aligned as its elements are.
  bool fits_behind(const Value& root, const BufferRequest& request, const Value& input) const {
    const auto width = [](const Value& value) {
      return bit_width(value.storage.dtype.value_or(value.type.dtype()));
    };
    const auto used = lives_.find(&input);
    return (used == lives_.end() || used->second.ends_before(request.life)) && width(root) <= width(input);
  }

  std::uint64_t alignment() const { return target_.device.is_host() ? 64 : 256; }

  /// Places an arena's buffers and the steps' workspaces.
  ArenaLayout settle(Arena& arena, const ArenaLayout& bound) {
    const std::size_t buffers = arena.requests.size();
    const bool on_device = arena.kind == ValueLocation::Kind::arena;
    const auto is_here = [&](const Step& step) {
      const bool step_on_device = step.subprograms ? !step.subprograms->device.is_host() : step.on_stream;
      if (!step_on_device && !target_.device.is_host()) return !on_device;
      return on_device && arena.device == static_cast<std::uint32_t>(several_ ? step.stream : 0);
    };
    const auto bytes_here = [&](std::size_t s) {
      if (is_here(program_.steps_[s])) return workspaces_[s];
      return program_.steps_[s].subprograms && !on_device ? program_.steps_[s].subprograms->host_workspace
                                                          : 0;
    };
    for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
      arena.requests.push_back({bytes_here(s), {}});
      order_.touch(arena.requests.back().life, s);
    }
    ArenaPlan plan = plan_arena_within(bound, arena.requests, alignment());
    for (const auto& [root, request] : arena.request_of)
      locations_.try_emplace(root, ValueLocation{arena.kind, arena.device, plan.offsets[request]});
    for (std::size_t s = 0; s < program_.steps_.size(); ++s)
      (is_here(program_.steps_[s]) ? program_.steps_[s].workspace : program_.steps_[s].host_workspace) =
          plan.offsets[buffers + s];
    return {std::move(arena.requests), std::move(plan)};
  }

  /// The buffer that holds a graph output is the caller's.
  void mark_outputs() {
    for (std::uint32_t index = 0; const Value* output : graph_.body().outputs()) {
      const std::uint32_t number = index++;
      if (!is_planned(*output)) continue;
      const Buffer where = buffers_.of(output);
      check(where.offset == 0 && storage_bytes(*where.root) == storage_bytes(*output) &&
                held_right(*output, callers_.output(number)),
            ErrorCode::bad_data, "output {} is not in the storage that the caller asked for", output->name());
      const CallerMemory::Alias* alias = callers_.alias_of_output(number);
      if (alias && lies_in_input(*where.root, *output, alias->input)) {
        locations_[where.root] = {ValueLocation::Kind::input, static_cast<std::uint32_t>(alias->input), 0};
        continue;
      }
      check(!alias || !alias->required, ErrorCode::unsupported,
            "output {} would overwrite an input that is still read", output->name());
      check(!locations_.contains(where.root), ErrorCode::bad_data, "output {} has no memory of its own",
            output->name());
      locations_[where.root] = {ValueLocation::Kind::output, number, 0};
    }
  }

  /// Whether an output may be written to the memory of an input: in place, or after all its users.
  bool lies_in_input(const Value& root, const Value& output, std::size_t number) const {
    const Value& input = *graph_.body().parameter(number);
    if (input.type != output.type || !is_planned(input)) return false;
    if (&root == &input) return true;
    return !locations_.contains(&root) && uses_.written_behind(root, input);
  }

  void bind_steps() {
    for (Step& step : program_.steps_) {
      step.first_input = static_cast<std::uint32_t>(program_.inputs_.size());
      step.inputs = static_cast<std::uint32_t>(step.node->inputs().size());
      for (const Value* input : step.node->inputs())
        program_.inputs_.push_back(input ? locations_.at(input) : ValueLocation{});
      step.first_output = static_cast<std::uint32_t>(program_.outputs_.size());
      step.outputs = static_cast<std::uint32_t>(step.node->outputs().size());
      for (const auto& output : step.node->outputs())
        program_.outputs_.push_back(locations_.at(output.get()));
    }
  }

  void place_results() {
    for (const Value* output : graph_.body().outputs()) {
      ValueLocation location = locations_.at(output);
      if (is_planned(*output) && location.kind != ValueLocation::Kind::input)
        location.kind = ValueLocation::Kind::output,
        location.index = static_cast<std::uint32_t>(program_.results_.size()), location.offset = 0;
      program_.results_.push_back(location);
    }
  }

  void cut_segments() {
    if (spread_) order_.add_barrier(); // the end
    Segments made = several_ ? make_device_segments(program_.steps_, order_)
                             : make_segments(program_.steps_, spread_ ? &order_ : nullptr);
    program_.segments_ = std::move(made.segments);
    program_.waits_ = std::move(made.waits);
    program_.streams_ = made.streams;
    program_.events_ = made.events;
  }

  Program& program_;
  const Graph& graph_;
  std::span<const Backend* const> backends_;
  const Target& target_;
  std::map<const Node*, std::size_t> node_order_;
  bool several_ = false; ///< Devices.
  bool spread_ = false;  ///< Over several streams.
  StepOrder order_;
  Accesses accesses_;
  std::map<const Value*, ValueLocation> locations_;
  std::map<const Node*, ReadyKernel> ready_;
  Buffers buffers_;
  MemoryUses uses_;
  std::map<const Value*, Lifetime> lives_; ///< Of roots.
  std::vector<std::uint64_t> workspaces_;  ///< By step.
  WeightStore& constants_;
  const CallerMemory& callers_;
  CallerMemory with_aliases_; ///< The same, with the inputs of aliases to be written over.
  const Program* bound_;
};

Program::Program(std::unique_ptr<Graph> lowered, std::span<const Backend* const> backends,
                 const Target& target, WeightStore& constants, const CallerMemory& callers,
                 const Program* bound)
    : graph_(std::move(lowered)), table_(constants.devices()),
      devices_(uses_further(*graph_, target) ? target.devices() : std::vector{target.device}),
      target_(target), backends_(backends.begin(), backends.end()) {
  Builder(*this, backends, target, constants, callers, bound).run();
}

bool Program::on_host() const noexcept {
  return !std::ranges::all_of(steps_, &Step::on_stream);
}

} // namespace lanner
