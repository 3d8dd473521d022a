#include "engine/caller_options.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/json.h"
#include "engine/context/pictures.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

constexpr std::size_t max_blocks = 8;
constexpr std::uint16_t max_block_size = 4096;

std::size_t number_of(const std::vector<Binding>& bindings, const std::string& name, std::string_view option,
                      std::string_view what) {
  const auto found = std::ranges::find(bindings, name, &Binding::name);
  if (found != bindings.end()) return static_cast<std::size_t>(found - bindings.begin());
  std::vector<std::string> known;
  for (const Binding& binding : bindings) known.push_back(binding.name);
  fail(ErrorCode::invalid_argument, "{}: the model has no {} '{}'; there is {}", option, what, name,
       joined(known, ", "));
}

bool is_real(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}

/// The engine's bindings under the options, computed before the engine is changed.
class Callers {
public:
  Callers(const EngineState& state, const CallerOptions& options) : state_(state), options_(options) {}

  void run() {
    memory.inputs.resize(state_.inputs.size());
    memory.outputs.resize(state_.outputs.size());
    memory.overwritable.resize(state_.inputs.size());
    for (const auto& [name, storage] : options_.storages) hold(name, storage);
    for (const std::string& name : options_.overwritable) {
      const std::size_t i = number_of(state_.inputs, name, "overwritable", "input");
      check_numbers(state_.inputs[i], "overwritable");
      memory.overwritable[i] = true;
    }
    for (const StateNames& names : options_.states) keep(names);
    for (const AliasNames& names : options_.aliases) share(names);
  }

  CallerMemory memory;
  std::vector<StatePair> states;

private:
  static void check_numbers(const Binding& binding, std::string_view option) {
    check_no_picture(binding, option);
    check(!binding.sequence && binding.dtype != DType::string, ErrorCode::unsupported,
          "{}: {} is not a numeric tensor", option, binding.to_string());
  }

  /// An input and an output may have the same name.
  void hold(const std::string& name, const BindingStorage& storage) {
    bool known = false;
    const auto apply = [&](const std::vector<Binding>& bindings, std::vector<HeldStorage>& held) {
      const auto found = std::ranges::find(bindings, name, &Binding::name);
      if (found == bindings.end()) return;
      known = true;
      held[static_cast<std::size_t>(found - bindings.begin())] = held_storage(*found, storage);
    };
    apply(state_.inputs, memory.inputs);
    const bool of_input = known;
    known = false;
    apply(state_.outputs, memory.outputs);
    check(!of_input || !known || storage.layout != "any", ErrorCode::unsupported,
          "storage of {}: an input and an output have that name; name a layout", name);
    known = known || of_input;
    std::vector<std::string> names;
    for (const Binding& binding : state_.inputs) names.push_back(binding.name);
    for (const Binding& binding : state_.outputs) names.push_back(binding.name);
    check(known, ErrorCode::invalid_argument, "storage: the model has no input or output '{}'; there is {}",
          name, joined(names, ", "));
  }

  static HeldStorage held_storage(const Binding& binding, const BindingStorage& asked) {
    check_numbers(binding, "storage");
    HeldStorage held;
    if (asked.dtype && *asked.dtype != binding.dtype) {
      check(is_real(*asked.dtype) && is_real(binding.dtype), ErrorCode::unsupported,
            "storage of {}: {} cannot be stored as {}; expected its own type, or f32, f64, f16 or bf16 for "
            "another of "
            "these",
            binding.name, to_string(binding.dtype), to_string(*asked.dtype));
      held.dtype = asked.dtype;
    }
    held.any = asked.layout == "any";
    if (held.any || asked.layout.empty() || asked.layout == "row") return held;
    held.layout = with_context([&] { return "storage of " + binding.name; },
                               [&] { return Layout::parse(asked.layout); });
    require_fitting(binding, asked.layout, held.layout);
    return held;
  }

  static void require_fitting(const Binding& binding, const std::string& text, const Layout& layout) {
    const bool fits = binding.ranked && (layout.order.empty() || layout.order.size() == binding.dims.size());
    const bool small = layout.blocks.size() <= max_blocks &&
                       std::ranges::all_of(layout.blocks, [](const Layout::Block& block) {
                         return block.size <= max_block_size;
                       });
    check(
        fits && small, ErrorCode::invalid_argument,
        "storage of {}: layout {} does not fit {}; expected a letter for each dim, and blocks of at most {}",
        binding.name, text, binding.to_string(), max_block_size);
  }

  void keep(const StateNames& names) {
    const StatePair pair = pair_of(names.input, names.output, "state");
    states.push_back(pair);
    check_rank(pair, "state");
    hold_alike(pair, "state");
    // The state is updated in place where that costs nothing.
    if (memory.overwritable[pair.input]) memory.aliases.push_back({pair.output, pair.input, false});
  }

  void share(const AliasNames& names) {
    const StatePair pair = pair_of(names.input, names.output, "alias");
    check_rank(pair, "alias");
    hold_alike(pair, "alias");
    memory.aliases.push_back({pair.output, pair.input, true});
  }

  /// Each input and output may be in one state or alias at most.
  StatePair pair_of(const std::string& input, const std::string& output, std::string_view option) {
    const StatePair pair{number_of(state_.inputs, input, option, "input"),
                         number_of(state_.outputs, output, option, "output")};
    check(taken_inputs_.insert(pair.input).second, ErrorCode::invalid_argument,
          "{}: input {} is a state or an alias already; expected one of them", option, input);
    check(taken_outputs_.insert(pair.output).second, ErrorCode::invalid_argument,
          "{}: output {} is a state or an alias already; expected one of them", option, output);
    return pair;
  }

  void check_rank(const StatePair& pair, std::string_view option) const {
    const Binding &input = state_.inputs[pair.input], &output = state_.outputs[pair.output];
    check_numbers(input, option);
    check_numbers(output, option);
    check(input.ranked, ErrorCode::unsupported, "{}: input {} may have any rank; give it a shape", option,
          input.to_string());
    bool fits = input.dtype == output.dtype;
    if (input.ranked && output.ranked) {
      fits = fits && input.dims.size() == output.dims.size();
      for (std::size_t d = 0; fits && d < input.dims.size(); ++d)
        fits = input.dims[d] < 0 || output.dims[d] < 0 || input.dims[d] == output.dims[d];
    }
    check(fits, ErrorCode::invalid_argument,
          "{}: output {} does not fit input {}; expected one type and shape", option, output.to_string(),
          input.to_string());
  }

  /// Input and output of a pair have the same storage.
  void hold_alike(const StatePair& pair, std::string_view option) {
    HeldStorage &input = memory.inputs[pair.input], &output = memory.outputs[pair.output];
    const std::string &in = state_.inputs[pair.input].name, &out = state_.outputs[pair.output].name;
    check(!input.any && !output.any, ErrorCode::unsupported,
          "{}: the storage of {} and {} cannot be left to the build; name a layout", option, in, out);
    const bool both = options_.storages.contains(in) && options_.storages.contains(out);
    check(!both || input == output, ErrorCode::invalid_argument,
          "{}: input {} and output {} share memory; expected the same storage for both", option, in, out);
    (options_.storages.contains(in) ? output : input) = options_.storages.contains(in) ? input : output;
  }

  const EngineState& state_;
  const CallerOptions& options_;
  std::set<std::size_t> taken_inputs_, taken_outputs_;
};

/// `f16 acdb`.
std::string storage_text(const HeldStorage& held) {
  if (held.any) return "any";
  Storage storage;
  storage.dtype = held.dtype;
  storage.layout = held.layout;
  return storage.to_string();
}

void describe_storage(Binding& binding, const HeldStorage& held) {
  binding.storage = storage_text(held);
  if (held.dtype) binding.dtype = *held.dtype;
}

void describe_callers(EngineState& state) {
  const CallerMemory& memory = state.callers;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    describe_storage(state.inputs[i], memory.input(i));
    state.inputs[i].overwritten = memory.may_write(i) || memory.alias_of_input(i) != nullptr;
  }
  for (std::size_t i = 0; i < state.outputs.size(); ++i) describe_storage(state.outputs[i], memory.output(i));
  for (const StatePair& pair : state.states)
    state.inputs[pair.input].state = state.outputs[pair.output].state = true;
}

} // namespace

void set_callers(EngineState& state, const CallerOptions& options) {
  Callers callers(state, options);
  callers.run();
  state.callers = std::move(callers.memory);
  state.states = std::move(callers.states);
  describe_callers(state);
}

void settle_storages(EngineState& state, const Graph& lowered) {
  const Region& body = lowered.body();
  for (std::size_t i = 0; i < state.callers.inputs.size(); ++i)
    state.callers.inputs[i] = settled(state.callers.inputs[i], body.parameter(i)->storage);
  for (std::size_t i = 0; i < state.callers.outputs.size(); ++i)
    state.callers.outputs[i] = settled(state.callers.outputs[i], body.outputs()[i]->storage);
  describe_callers(state);
}

void check_aliases(const EngineState& state, const Graph& specialised) {
  for (const CallerMemory::Alias& alias : state.callers.aliases) {
    if (!alias.required) continue;
    const Value* output = specialised.body().outputs()[alias.output];
    const Value* input = specialised.body().parameter(alias.input);
    const std::string &out = state.outputs[alias.output].name, &in = state.inputs[alias.input].name;
    check(is_planned(*output), ErrorCode::unsupported,
          "alias: the size of output {} depends on data, so it cannot use the memory of input {}", out, in);
    check(output->type == input->type, ErrorCode::invalid_argument,
          "alias: output {} is {}, input {} is {}; expected the same type and shape", out,
          output->type.to_string(), in, input->type.to_string());
  }
}

void write_callers(const EngineState& state, nlohmann::ordered_json& target) {
  for (const StatePair& pair : state.states)
    target["states"].push_back({state.inputs[pair.input].name, state.outputs[pair.output].name});
  for (const CallerMemory::Alias& alias : state.callers.aliases)
    if (alias.required)
      target["aliases"].push_back({state.outputs[alias.output].name, state.inputs[alias.input].name});
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    if (state.callers.may_write(i)) target["overwritable"].push_back(state.inputs[i].name);
  auto storages = nlohmann::ordered_json::object();
  std::set<std::string_view> written; // an input may also be an output
  const auto write = [&](const Binding& binding, const HeldStorage& held) {
    if (held == HeldStorage{} || !written.insert(binding.name).second) return;
    nlohmann::ordered_json json{{"layout", held.any ? "any" : held.layout.to_string()}};
    if (held.dtype) json["dtype"] = to_string(*held.dtype);
    append(storages, binding.name, std::move(json));
  };
  for (std::size_t i = 0; i < state.inputs.size(); ++i) write(state.inputs[i], state.callers.input(i));
  for (std::size_t i = 0; i < state.outputs.size(); ++i) write(state.outputs[i], state.callers.output(i));
  if (!storages.empty()) target["storages"] = std::move(storages);
}

CallerOptions read_callers(const nlohmann::json& target) {
  const auto list = [&](const char* key) { return target.value(key, nlohmann::json::array()); };
  CallerOptions options;
  for (const auto& pair : list("states"))
    options.states.push_back({pair.at(0).get<std::string>(), pair.at(1).get<std::string>()});
  for (const auto& pair : list("aliases"))
    options.aliases.push_back({pair.at(0).get<std::string>(), pair.at(1).get<std::string>()});
  for (const auto& name : list("overwritable")) options.overwritable.push_back(name.get<std::string>());
  const nlohmann::json storages = target.value("storages", nlohmann::json::object());
  for (const auto& [name, json] : storages.items()) {
    BindingStorage& storage = options.storages[name];
    storage.layout = json.at("layout").get<std::string>();
    if (json.contains("dtype")) storage.dtype = parse_dtype(json.at("dtype").get<std::string>());
  }
  return options;
}

} // namespace lanner
