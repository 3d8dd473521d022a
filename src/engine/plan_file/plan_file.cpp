#include "engine/plan_file/plan_file.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/log.h>
#include <lanner/version.h>

#include "backends/backends.h"
#include "backends/given_layout.h"
#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/json.h"
#include "base/text/one_line.h"
#include "device/threads.h"
#include "engine/builder.h"
#include "engine/caller_options.h"
#include "engine/explain.h"
#include "engine/initialisers.h"
#include "engine/plan_file/plan_layout.h"
#include "engine/plan_file/plan_numbers.h"
#include "engine/plan_file/plan_weights.h"
#include "engine/profiles.h"
#include "engine/source_weights.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "ops/table/table.h"
#include "program/lowered/portable.h"
#include "program/lowered/precision.h"
#include "program/memory/placement.h"
#include "tensor/half_types.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

constexpr std::uint64_t min_weight_bytes = 1024;
constexpr std::size_t max_variants = 1024;

const std::string& metadata_of(const Safetensors& file, const char* key) {
  const auto found = file.metadata().find(key);
  check(found != file.metadata().end(), ErrorCode::bad_data, "not a Lanner plan: metadata {} is missing",
        key);
  return found->second;
}

Safetensors open_plan(const SourcePtr& source, const Limits& limits) {
  const Content content = read_all(source, limits);
  try {
    return Safetensors::open(content, source->name(), limits);
  } catch (const Error&) {
    const EngineBuilder* builder = find_builder();
    const auto format = builder ? builder->model_format(content.bytes) : std::nullopt;
    if (!format) throw;
    fail(ErrorCode::bad_data, "not a plan: it looks like a model of format {}; use build", *format);
  }
}

/// Reads and checks a plan's parts.
class PlanReader {
public:
  PlanReader(const SourcePtr& source, const LoadOptions& options)
      : options_(options), name_(source->name()), file_(open_plan(source, options.limits)) {}

  std::shared_ptr<EngineState> read() {
    check(metadata_of(file_, plan_key) == std::to_string(plan_version), ErrorCode::unsupported,
          "the plan has format {}, this version reads {}; build it again", metadata_of(file_, plan_key),
          plan_version);
    check_digest();
    check_pads();
    check_operators();
    const nlohmann::json target = parse_json(metadata_of(file_, target_key), options_.limits);
    auto state = std::make_shared<EngineState>(options_.limits, current_account(), options_.environment);
    take_weights(*state);
    state->graph = read_portable(*state);
    read_target(target, *state);
    describe(*state);
    read_callers_of(target, *state);
    read_defaults(target, *state);
    state->opt.reset();
    if (!target.at("shapes").is_null()) state->opt = read_shapes(target, *state);
    state->expect(
        parse_profiles(target.value("profiles", nlohmann::json::array()), *state->graph, state->opt));
    state->tune_at_run = options_.tune_at_run;
    check_tune_at_run(*state);
    state->timing_cache = options_.environment.state().timing_cache();
    adopt_variants(*state, read_variants(target, *state), why_not_here(target, state->target));
    return state;
  }

private:
  const OpTable& operators() const { return options_.environment.state().ops; }

  /// The plan contains no code: custom operators of its build must be registered.
  void check_operators() const {
    const auto found = file_.metadata().find(operators_key);
    if (found == file_.metadata().end()) return;
    const nlohmann::json needed = parse_json(found->second, options_.limits);
    for (const auto& [name, version] : needed.items())
      check(operators().find(name) != nullptr, ErrorCode::unsupported,
            "the plan needs the operator {} (version {}), which the environment lacks; load the plug-in that "
            "provides it: --plugin, or load_plugin of the environment",
            one_line(name, 200), plan_integer(version, 0, UINT32_MAX));
  }

  void check_digest() const {
    std::vector<SafetensorsItem> items;
    for (const SafetensorsEntry& entry : file_.entries())
      items.push_back({entry.name, entry.dtype, entry.shape, file_.bytes(entry)});
    check(metadata_of(file_, digest_key) == plan_digest(file_.metadata(), items), ErrorCode::bad_data,
          "the digest does not match the content: the file was damaged or changed; build it again");
  }

  /// Padding is not part of the digest, so it must be zero.
  void check_pads() const {
    for (const SafetensorsEntry& pad : file_.pads())
      for_each_part(file_.bytes(pad), {}, [&](std::span<const std::byte> part) {
        check(std::ranges::all_of(part, [](std::byte b) { return b == std::byte{0}; }), ErrorCode::bad_data,
              "the padding {} is not zero: the file was damaged or changed; build it again", pad.name);
      });
  }

  std::string text(std::string_view name) const {
    const SafetensorsEntry* entry = file_.find(name);
    check(entry && entry->dtype == DType::u8, ErrorCode::bad_data, "the plan has no part '{}'", name);
    const auto bytes = file_.bytes(*entry);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const Tensor& stored(std::string_view name) const {
    const auto found = weights_.find(name);
    check(found != weights_.end(), ErrorCode::bad_data, "weight '{}' is not in the plan's table", name);
    return found->second.value;
  }

  /// Reads each constant and its recipe; those of a stripped plan are computed.
  void take_weights(const EngineState& state) {
    weights_ = read_plan_weights(file_, options_.limits);
    const auto lacks = [](const auto& entry) {
      return !entry.second.value.defined() && !entry.second.computed;
    };
    const bool stripped = std::ranges::any_of(weights_, lacks);
    check(
        !stripped || options_.weights, ErrorCode::invalid_argument,
        "the plan was saved without its weights: give the model, a safetensors file or a whole plan that has "
        "them as weights");
    check(stripped || !options_.weights, ErrorCode::invalid_argument,
          "weights were given, but the plan holds its own; refit the engine instead");
    std::optional<GivenWeights> given;
    if (stripped) given.emplace(options_.weights, options_.weights_folder, options_.limits, operators());
    for (auto& [name, weight] : weights_) {
      check_deadline();
      if (weight.computed) continue;
      if (given && !weight.value.defined()) weight.value = given->value(weight.recipe, weight.type());
      weight.value = state.constants().add(weight.recipe, weight.value);
    }
    for (auto& [name, weight] : weights_) {
      check_deadline();
      if (weight.computed) weight.value = state.constants().add(weight.recipe, computed(weight, state));
    }
  }

  /// The value of its recipe, from source weights already read.
  Tensor computed(const PlanWeight& weight, const EngineState& state) const {
    return value_of(
        weight.recipe, weight.type(), operators(),
        [&](const std::string& name) { return state.constants().source(name); }, options_.limits);
  }

  /// Weights stay in their stored layout until a variant needs another, as converting takes time and memory.
  /// Small constants, which shapes may be inferred from, are converted at once.
  Tensor portable(const EngineState& state, std::string_view name) const {
    const Tensor& tensor = stored(name);
    const bool weight = tensor.dtype() != DType::string && tensor.bytes() >= min_weight_bytes;
    return weight || tensor.layout().row_major() ? tensor : state.constants().get(tensor, {});
  }

  std::unique_ptr<const Graph> read_portable(const EngineState& state) const {
    std::unique_ptr<Graph> graph = parse_graph(
        text("ir"), operators(), [&](auto, auto name) { return portable(state, name); }, options_.limits);
    check_portable(*graph);
    for_each_constant(graph->body(), [&](Node& node) {
      if (const auto constant = state.constants().find(*node.output()->constant()))
        set_recipe(node, constant->recipe);
    });
    return graph;
  }

  /// Why none of the plan's kernels can be used here; empty: they can.
  static std::string why_not_here(const nlohmann::json& json, const Target& target) {
    const auto other = [&](const std::string& built, const std::string& here) -> std::string {
      if (built == here) return {};
      return fmt::format("it was built on another kind of processor ({})", built.substr(0, 200));
    };
    std::string reason = other(json.at("isa").get<std::string>(), target.isa);
    const nlohmann::json further = json.value("further", nlohmann::json::array());
    const std::string built_for = json.at("device").get<std::string>();
    if (Device::parse(built_for) != target.device && reason.empty())
      reason = fmt::format("it was built for {}", built_for);
    for (std::size_t d = 0; d < target.further.size() && reason.empty(); ++d)
      reason = other(further.at(d).at("isa").get<std::string>(), target.further[d].isa);
    return reason;
  }

  /// Nodes placed on devices that are not requested run on the engine's own.
  void read_placement(const nlohmann::json& json, Target& target) const {
    const Device built_for = Device::parse(json.at("device").get<std::string>());
    DevicePlacement& placement = target.placement;
    if (target.device == built_for)
      for (const auto& device : json.value("further", nlohmann::json::array()))
        placement.devices.push_back(Device::parse(device.at("device").get<std::string>()));
    const std::vector<Device> set = target.devices();
    for (const auto& placed : json.value("placed", nlohmann::json::array())) {
      const Device device = Device::parse(placed.at("device").get<std::string>());
      const bool there = device.is_host() || std::ranges::find(set, device) != set.end();
      if (there || target.device == built_for)
        placement.nodes.push_back({placed.at("pattern").get<std::string>(), device});
    }
    placement.strict = json.value("strictly_placed", false);
    check_placement(target.device, placement);
    for (const Device device : placement.devices)
      with_context([&] { return fmt::format("the plan is for {}", devices_text(set)); },
                   [&] {
                     target.further.push_back({isa_of(device), {}});
                   });
  }

  void read_target(const nlohmann::json& json, EngineState& state) const {
    state.target.device = options_.device.value_or(Device::parse(json.at("device").get<std::string>()));
    read_placement(json, state.target);
    state.set_weight_budget(options_.weight_budget);
    check_threads(options_.threads);
    const int built_for = static_cast<int>(
        std::clamp<std::int64_t>(plan_integer(json.at("threads"), 0, INT32_MAX), 1, max_threads));
    state.target.threads =
        options_.threads > 0 ? options_.threads : std::min(built_for, options_.environment.state().team());
    state.target.precision = read_precision(json);
    state.target.deterministic = json.at("deterministic").get<bool>();
    check_backends(state.target.device, options_.environment.state().backends);
    state.target.isa = isa_of(state.target.device);
    state.target.host_isa = isa_of({});
    set_limits(state.target, options_.environment.state());
    state.budget = std::clamp(json.at("budget").get<double>(), 0.0, 3600.0);
  }

  static Precision read_precision(const nlohmann::json& json) {
    Precision precision;
    precision.types.clear();
    for (const auto& name : json.at("precisions"))
      precision.types.insert(parse_dtype(name.get<std::string>()));
    if (json.contains("pins"))
      for (const auto& pin : json.at("pins"))
        precision.pins.push_back(
            {pin.at("pattern").get<std::string>(), parse_dtype(pin.at("type").get<std::string>())});
    precision.strict = json.value("strict", false);
    precision.exact = json.value("exact", false);
    check_precision(precision);
    return precision;
  }

  static void read_callers_of(const nlohmann::json& target, EngineState& state) {
    try {
      set_callers(state, read_callers(target));
    } catch (const Error& error) {
      throw Error(ErrorCode::bad_data, "the plan's target: " + error.message());
    }
  }

  void read_defaults(const nlohmann::json& target, EngineState& state) const {
    state.initialisers = read_initialisers(target);
    std::map<std::string, Tensor> values;
    const nlohmann::json defaults = target.value("defaults", nlohmann::json::object());
    for (const auto& [input, weight] : defaults.items()) values[input] = stored(weight.get<std::string>());
    try {
      set_defaults(state, std::move(values));
    } catch (const Error& error) {
      throw Error(ErrorCode::bad_data, "the plan's default values: " + error.message());
    }
  }

  InputShapes read_shapes(const nlohmann::json& json, const EngineState& state) const {
    InputShapes shapes;
    for (const auto& shape : json.at("shapes")) shapes.push_back(plan_shape(shape, options_.limits.rank));
    check(shapes.size() == state.inputs.size(), ErrorCode::bad_data, "the plan has {} shapes for {} inputs",
          shapes.size(), state.inputs.size());
    bind_shapes(*state.graph, given_shapes(*state.graph, shapes));
    return shapes;
  }

  /// Shapes and threads of each variant; those built for the plan's number of threads are used for the
  /// engine's.
  std::vector<VariantKey> read_variants(const nlohmann::json& target, const EngineState& state) const {
    const auto built_for = plan_integer(target.at("threads"), 0, INT32_MAX);
    std::vector<VariantKey> keys;
    if (state.opt) keys.push_back({*state.opt, state.target.threads});
    const auto found = file_.metadata().find(variants_key);
    if (found == file_.metadata().end()) return keys;
    const nlohmann::json entries = parse_json(found->second, options_.limits);
    check(entries.size() < max_variants, ErrorCode::bad_data, "the plan has {} variants, expected at most {}",
          entries.size() + 1, max_variants);
    for (const auto& entry : entries) {
      const auto threads = static_cast<int>(plan_integer(entry.at("threads"), 1, max_threads));
      keys.push_back({read_shapes(entry, state), threads == built_for ? state.target.threads : threads});
    }
    return keys;
  }

  /// Adopts the lowered graphs. Kernels are chosen anew for variants of which this machine, or its number of
  /// threads, lacks a kernel, and for all if there is a `reason` why none can be used.
  void adopt_variants(EngineState& state, const std::vector<VariantKey>& variants, std::string reason) const {
    std::vector<VariantKey> missing;
    if (!reason.empty()) missing = variants;
    for (std::size_t i = 0; missing.size() < variants.size() && i < variants.size(); ++i) {
      const std::string lacking = adopted(state, variants[i], i);
      if (lacking.empty()) continue;
      if (missing.empty()) reason = lacking;
      missing.push_back(variants[i]);
    }
    if (!missing.empty()) tune_again(state, missing, reason);
  }

  /// Adopts one variant; otherwise returns what this machine lacks.
  std::string adopted(EngineState& state, const VariantKey& key, std::size_t number) const {
    std::unique_ptr<Graph> lowered = parse_graph(
        text(plan_part("lowered", number)), operators(), [this](auto, auto name) { return stored(name); },
        options_.limits);
    store_constants(state, *lowered);
    infer_types(*lowered);
    verify(*lowered); // open types are inferred now
    check_interface(state, key.shapes, *lowered);
    try {
      Target target = state.target;
      target.threads = key.threads;
      auto program = std::make_shared<const Program>(std::move(lowered), state.backends(target), target,
                                                     state.constants(), state.callers);
      state.adopt(key.shapes, key.threads,
                  {std::move(program), parse_reports(text(plan_part("reports", number)), options_.limits),
                   key.threads});
      return {};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return error.message();
    }
  }

  /// Tunes again from the portable IR, with a warning, as it takes time.
  void tune_again(EngineState& state, const std::vector<VariantKey>& variants,
                  const std::string& reason) const {
    check(find_builder() != nullptr, ErrorCode::unsupported,
          "the plan does not run here as it is ({}), and this library (liblanner-runtime) has no builder to "
          "choose kernels anew; build the plan on a machine like this one, or link liblanner",
          reason);
    state.notes.push_back(
        fmt::format("the plan was tuned again from its IR, within {} s: {}", state.budget, reason));
    log_message(LogLevel::warning, fmt::format("{}: {}", name_, state.notes.back()));
    state.make_ahead(variants, options_.control);
  }

  /// 16-bit reals may also be stored as f32.
  static bool is_form_of(const Type& type, const Tensor& tensor) {
    return type.is_static() && type.shape() == tensor.shape() &&
           (type.dtype() == tensor.dtype() || (is_half(tensor.dtype()) && type.dtype() == DType::f32));
  }

  /// Registers constants in the form that kernels read, converted from that of the file.
  void store_constants(const EngineState& state, Graph& lowered) const {
    // Scales first: other constants are quantised with them.
    for (const bool quantized : {false, true})
      for_each_constant(lowered.body(), [&](Node& node) {
        if ((node.output()->storage.quantization != nullptr) == quantized) store_constant(state, node);
      });
  }

  void store_constant(const EngineState& state, Node& node) const {
    check_deadline();
    const Value& value = *node.output();
    const Tensor tensor = *value.constant();
    Storage wanted = value.storage;
    wanted.device = {};
    const DType type = wanted.dtype.value_or(value.type.dtype());
    const bool stored =
        tensor.dtype() == type && !wanted.quantization &&
        (tensor.layout() == wanted.layout || (tensor.layout().row_major() && wanted.layout.row_major()));
    if (stored) return;
    check(is_form_of(value.type, tensor) && type != DType::string && tensor.dtype() != DType::string,
          ErrorCode::bad_data, "constant {} is {}, which is not a form of {} stored as {}", value.name(),
          Type(tensor.dtype(), tensor.shape()).to_string(), value.type.to_string(), wanted.to_string());
    check_layout(wanted.layout, tensor.shape());
    wanted.dtype = type;
    node.attributes.set("value", state.constants().get(tensor, wanted));
  }

  /// Whether two types differ at most in sizes.
  static bool same_form(const Type& a, const Type& b) {
    if (a.kind() != b.kind()) return false;
    return a.is_tensor() ? a.dtype() == b.dtype() : same_form(a.element(), b.element());
  }

  static void check_interface(const EngineState& state, const InputShapes& shapes, const Graph& lowered) {
    const auto parameters = lowered.body().parameters();
    check(parameters.size() == state.inputs.size() && lowered.body().outputs().size() == state.outputs.size(),
          ErrorCode::bad_data, "the lowered graph has another interface than the portable one");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Type& portable = state.graph->body().parameter(i)->type;
      const Type expected = portable.is_tensor() ? Type(portable.dtype(), shapes[i]) : portable;
      // Sizes within sequences and optionals are specialised too, through symbols shared with tensors.
      const Type& made = parameters[i]->type;
      check(portable.is_tensor() ? made == expected : same_form(made, expected), ErrorCode::bad_data,
            "lowered input {} is {}, expected {}", parameters[i]->name(), made.to_string(),
            expected.to_string());
    }
    for (std::size_t i = 0; i < state.outputs.size(); ++i) {
      const Type &made = lowered.body().outputs()[i]->type,
                 &portable = state.graph->body().outputs()[i]->type;
      check(same_form(made, portable), ErrorCode::bad_data, "lowered output {} is {}, expected {}", i,
            made.to_string(), portable.to_string());
    }
  }

  const LoadOptions& options_;
  std::string name_;
  Safetensors file_;
  std::map<std::string, PlanWeight, std::less<>> weights_;
};

} // namespace

std::shared_ptr<EngineState> load_plan(const SourcePtr& source, const LoadOptions& given) {
  const EnvironmentState& environment = given.environment.state();
  LoadOptions options = given;
  options.limits = environment.within(given.limits);
  const auto account = std::make_shared<Account>(options.limits, environment.thread_settings);
  const AccountScope charged(account);
  const DeadlineScope deadline(options.limits, options.control.cancel);
  const Meter tables; // memory of the parsed JSON
  try {
    return PlanReader(source, options).read();
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::bad_data, "a table of the plan is damaged: {}", error.what());
  } catch (const Error& error) {
    // A violated graph invariant is the file's fault, not Lanner's.
    if (error.code() != ErrorCode::internal) throw;
    fail(ErrorCode::bad_data, "the plan contradicts itself: {}", error.message());
  }
}

} // namespace lanner
