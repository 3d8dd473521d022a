#include "lower/propose/conversions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/storage/quantization.h"
#include "lower/check/trusted_kernels.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"
#include "tensor/half_types.h"

namespace lanner {

Form lowered_form(const Type& type, Storage storage) {
  if (!is_half(type.dtype()) || !storage.dtype || storage.quantization || !storage.device.is_host())
    return {type, std::move(storage)};
  const DType dtype = *std::exchange(storage.dtype, std::nullopt);
  return {type.with_dtype(dtype), std::move(storage)};
}

AttributeMap conversion_attributes(std::string_view kind, const Type& to) {
  AttributeMap attributes;
  if (kind == "cast") attributes.set("to", to.dtype());
  return attributes;
}

std::vector<Value*> conversion_inputs(Value& value, const Storage& to) {
  std::vector<Value*> inputs{&value};
  for (const Storage* storage : std::array{&std::as_const(value.storage), &to})
    for (Value* read : values_of(*storage))
      if (!read->constant() && std::ranges::find(inputs, read) == inputs.end()) inputs.push_back(read);
  return inputs;
}

std::unique_ptr<Graph> conversion_graph(const OpTable& ops, std::string_view kind, const Form& from,
                                        const Form& to) {
  auto graph = std::make_unique<Graph>(ops, std::string(kind));
  Value* input = graph->add_input("x", from.type);
  std::map<const Value*, Value*> made;
  const std::function<Value*(Value*)> taken_in = [&](Value* value) {
    Value*& here = made[value];
    if (here) return here;
    const Tensor* constant = value->constant();
    here = constant ? graph->constant(*constant, value->name())
                    : graph->add_input(graph->unique_name(value->name()), value->type);
    here->storage = with_values(value->storage, taken_in);
    return here;
  };
  input->storage = with_values(from.storage, taken_in);
  const Storage storage = with_values(to.storage, taken_in);
  Value* output = graph->emit(kind, conversion_inputs(*input, storage), conversion_attributes(kind, to.type),
                              to.type, "y");
  output->storage = storage;
  graph->add_output("y", output);
  return graph;
}

/// Cheapest first.
static std::vector<Alternative> tactics_for(const Node& conversion, const LowerOptions& options) {
  std::vector<Alternative> list;
  double best = std::numeric_limits<double>::infinity();
  const Target own = options.target.on(device_of(conversion));
  for (const Backend* backend : options.backends) {
    if (is_definition(*backend) && !list.empty()) break;
    for (Tactic& tactic : reachable_tactics(*backend, conversion, own).tactics) {
      if (!same_storage(conversion.input(0)->type, tactic.inputs.at(0), conversion.input(0)->storage))
        continue;
      if (!same_storage(conversion.output()->type, tactic.outputs.at(0), conversion.output()->storage))
        continue;
      Cost cost = options.tuner.cost(conversion, *backend, tactic, best, options.tuner.budget());
      if (!cost.wrong.empty()) continue;
      best = std::min(best, cost.seconds);
      list.push_back({backend, std::move(tactic), std::move(cost)});
    }
  }
  std::ranges::stable_sort(list, {}, [](const Alternative& one) { return one.cost.seconds; });
  return list;
}

std::optional<Alternative> best_conversion(const Node& conversion, const LowerOptions& options) {
  std::vector<Alternative> list = tactics_for(conversion, options);
  return list.empty() ? std::nullopt : std::optional(std::move(list.front()));
}

std::optional<Alternative> vetted_conversion(const Node& conversion, const LowerOptions& options) {
  for (Alternative& one : tactics_for(conversion, options)) {
    Cost vetted = options.tuner.vet(conversion, *one.backend, one.tactic);
    if (!vetted.wrong.empty()) continue;
    one.cost = std::move(vetted);
    return std::move(one);
  }
  return std::nullopt;
}

/// Moves the form with fewer bytes.
static Storage between_gpus(const Type& type, const Storage& from, const Storage& to) {
  const auto bytes = [&](const Storage& storage) {
    return storage.layout.bytes(type.shape(), storage.dtype.value_or(type.dtype()));
  };
  const bool changed_first = bytes(to) < bytes(from);
  Storage middle = changed_first ? to : from;
  middle.device = changed_first ? from.device : to.device;
  return same_storage(type, middle, to) ? to : middle;
}

Storage staging(const Type& type, const Storage& from, const Storage& to) {
  if (from.device == to.device) return from;
  // Only whole values are copied between devices.
  if (from.within || to.within) {
    Storage whole = from.within ? from : to;
    whole.within = {};
    return whole;
  }
  if (!from.device.is_host() && !to.device.is_host()) return between_gpus(type, from, to);
  const bool from_host = from.device.is_host();
  const Storage &host = from_host ? from : to, &other = from_host ? to : from;
  // The GPU, which is faster, converts where it has kernels; blocked layouts and quantisation are converted
  // on the host.
  const bool by_host = !host.layout.blocks.empty() || host.quantization;
  Storage middle = by_host ? other : host;
  middle.device = by_host ? host.device : other.device;
  if (same_storage(type, middle, to)) return to;
  return middle;
}

double ConversionCosts::to_caller(const Value& output, const Storage& from) {
  double seconds = 0;
  for (const Use& use : output.uses()) {
    if (use.node) continue;
    if (is_planned(output))
      seconds += (*this)(
          output.type, from,
          settled_storage(options_.callers.output(use.index), from, output.type, options_.target.device));
  }
  return seconds;
}

double ConversionCosts::operator()(const Type& type, const Storage& from, const Storage& to) {
  const bool moved = type.is_static() && type.dtype() != DType::string; // else it has no planned memory
  if (!moved || same_storage(type, from, to)) return 0;
  if (const Storage middle = staging(type, from, to);
      !same_storage(type, middle, from) && !same_storage(type, middle, to))
    return (*this)(type, from, middle) + (*this)(type, middle, to);
  const Form begin = lowered_form(type, from), end = lowered_form(type, to);
  if (begin.type == end.type) return reordered(begin, end);
  return std::min(cast_first(begin, end), cast_last(begin, end));
}

double ConversionCosts::copied(const Type& type, const Storage& storage) {
  const Form form = lowered_form(type, storage);
  return reordered(form, form);
}

double ConversionCosts::reordered(const Form& from, const Form& to) {
  return made("reorder", from, to);
}

double ConversionCosts::cast_first(const Form& from, const Form& to) {
  return made("cast", from, {to.type, from.storage}) + (*this)(to.type, from.storage, to.storage);
}

double ConversionCosts::cast_last(const Form& from, const Form& to) {
  return (*this)(from.type, from.storage, to.storage) + made("cast", {from.type, to.storage}, to);
}

double ConversionCosts::made(std::string_view kind, const Form& from, const Form& to) {
  const std::string key = fmt::format("{} {} {} {} {}", kind, from.type.to_string(), from.storage.to_string(),
                                      to.type.to_string(), to.storage.to_string());
  const auto [entry, fresh] = known_.emplace(key, 0.0);
  if (!fresh) return entry->second;
  const std::unique_ptr<Graph> graph = conversion_graph(graph_.ops(), kind, from, to);
  const auto best = best_conversion(*graph->body().nodes().front(), options_);
  // Without a kernel the interpreter does it, at a cost that avoids it.
  entry->second = best ? best->cost.seconds : 1.0;
  return entry->second;
}

} // namespace lanner
