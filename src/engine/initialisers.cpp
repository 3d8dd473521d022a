#include "engine/initialisers.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "engine/context/input_names.h"
#include "engine/state.h"
#include "program/weights/packing.h"

namespace lanner {

constexpr std::size_t longest_shown = 200;

const Binding* Initialisers::find(std::string_view name) const {
  const auto found = std::ranges::find(overridable, name, &Binding::name);
  return found == overridable.end() ? nullptr : &*found;
}

void Initialisers::refuse(std::string_view name) const {
  check(!built_in.contains(name), ErrorCode::invalid_argument,
        "'{0}' is an initialiser, which this engine has as a constant: build it with overridden {0} "
        "(--overridden {0}, overridden=[...] in Python) to give it other values",
        one_line(name, longest_shown));
  check(!fixed.contains(name), ErrorCode::invalid_argument,
        "'{}' is an initialiser with no graph input of its name, so that no run can give it; refit gives "
        "weights other values",
        one_line(name, longest_shown));
}

Initialisers without_model(const Initialisers& initialisers) {
  Initialisers rest = initialisers;
  for (const Binding& binding : initialisers.overridable) rest.built_in.insert(binding.name);
  rest.overridable.clear();
  return rest;
}

void set_defaults(EngineState& state, std::map<std::string, Tensor> values) {
  state.defaults.resize(state.inputs.size());
  for (auto& [name, value] : values) {
    const std::size_t i = input_number(*state.graph, name);
    Binding& input = state.inputs[i];
    check(!input.state && !input.overwritten && input.image.empty() && value.device().is_host(),
          ErrorCode::invalid_argument,
          "overridden: input {} {}, and then it cannot keep a value of the model's; leave out one of the two",
          input.name,
          input.state         ? "is a state"
          : input.overwritten ? "may be overwritten by a run"
                              : "takes pictures");
    state.check_fits(i, value.shape());
    const Type& type = state.graph->body().parameter(i)->type;
    check(type.dtype() == value.dtype(), ErrorCode::invalid_argument,
          "overridden: the value of {} is {}{}, the input of its name {}", input.name,
          to_string(value.dtype()), value.shape().to_string(), type.to_string());
    const Tensor row = value.layout().row_major() ? value : pack(value, {});
    state.defaults[i] = input.dtype == row.dtype() ? row : pack(row, of_type(input.dtype));
    input.defaulted = true;
  }
}

void write_initialisers(const Initialisers& initialisers, nlohmann::ordered_json& target) {
  for (const std::string& name : without_model(initialisers).built_in)
    target["initialisers"]["built_in"].push_back(name);
  for (const std::string& name : initialisers.fixed) target["initialisers"]["fixed"].push_back(name);
}

Initialisers read_initialisers(const nlohmann::json& target) {
  Initialisers initialisers;
  const nlohmann::json all = target.value("initialisers", nlohmann::json::object());
  for (const auto& name : all.value("built_in", nlohmann::json::array()))
    initialisers.built_in.insert(name.get<std::string>());
  for (const auto& name : all.value("fixed", nlohmann::json::array()))
    initialisers.fixed.insert(name.get<std::string>());
  return initialisers;
}

} // namespace lanner
