// Engine.verify: arguments and result.

#include "engine/verification.h"

#include <algorithm>

#include <lanner/error.h>

#include "calls/check.h"
#include "calls/option_rows.h"
#include "calls/options.h"
#include "engine/notebook.h"

namespace lanner::python {
namespace {

const Binding& input_called(const Engine& engine, nb::handle name) {
  if (nb::isinstance<nb::str>(name)) {
    const std::string wanted = bytes_of(name, "surrogateescape");
    for (const std::vector<Binding>* bindings : {&engine.inputs(), &engine.overridable()})
      for (const Binding& binding : *bindings)
        if (binding.name == wanted) return binding;
  }
  std::vector<std::string_view> known;
  for (const Binding& binding : engine.inputs()) known.push_back(binding.name);
  fail(ErrorCode::invalid_argument, "no input is called {}; there is {}", shown(name),
       fmt::join(known, ", "));
}

nb::list texts(const std::vector<std::string>& list) {
  nb::list result;
  for (const std::string& text : list) result.append(text_of(text));
  return result;
}

nb::list differences(const Verification& found) {
  nb::list result;
  for (const NodeDifference& difference : found.differences) result.append(difference);
  return result;
}

std::string line_of(const NodeDifference& found) {
  return fmt::format("{} ({}) by {}:{}: {}", found.name, found.op, found.backend, found.kernel, found.reason);
}

/// One line, for `repr`.
std::string line_of(const Verification& found) {
  std::string line =
      fmt::format("{}: {} nodes compared, {} by definition, {} skipped", found.right() ? "right" : "wrong",
                  found.nodes, found.defined, found.skipped);
  if (!found.differences.empty())
    line += fmt::format("; {} differ, the first: {}", found.differences.size(),
                        line_of(found.differences.front()));
  if (!found.network.empty()) line += fmt::format("; network: {}", found.network);
  return line;
}

} // namespace

std::span<const Keyword> verify_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(verify_option_table(), true, {"shapes"});
  return keywords;
}

Verification verify(const Engine& engine, const nb::dict& shapes, const nb::dict& inputs,
                    const nb::kwargs& others) {
  VerifyOptions options;
  nb::object progress = nb::none();
  take_keywords("verify", others, verify_keywords(), verify_option_table(), options,
                [&](const std::string&, nb::handle value) {
                  if (PyCallable_Check(value.ptr()) == 0) throw std::bad_cast();
                  progress = nb::borrow(value);
                });
  for (const auto& [name, given] : shapes) {
    const nb::object value = nb::borrow(given);
    const Binding& input = input_called(engine, name);
    options.shapes[input.name] = with_option_named(
        fmt::format("shapes of {}", input.name), value, [&] { return to_shape(value); }, expected_sizes);
  }
  for (const auto& [name, borrowed] : inputs) {
    const nb::object value = nb::borrow(borrowed); // converting it calls code that may change the dict
    const Binding& input = input_called(engine, name);
    options.inputs[input.name] =
        with_context([&] { return "input " + input.name; }, [&] { return to_item(value, input.sequence); });
  }
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  return interruptible.run([&] { return engine.verify(options); });
}

void register_verification(nb::module_& module) {
  nb::class_<NodeDifference>(module, "NodeDifference",
                             "A node whose kernel gives other values than the definition of its operator.")
      .def_prop_ro(
          "name", [](const NodeDifference& self) { return text_of(self.name); }, "Name of the node.")
      .def_prop_ro(
          "op", [](const NodeDifference& self) { return text_of(self.op); }, "Its operator.")
      .def_prop_ro(
          "kernel", [](const NodeDifference& self) { return text_of(self.kernel); },
          "Kernel that computed it.")
      .def_prop_ro(
          "backend", [](const NodeDifference& self) { return text_of(self.backend); },
          "Backend of the kernel, such as `onednn`.")
      .def_prop_ro(
          "sources", [](const NodeDifference& self) { return texts(self.sources); },
          nb::sig("def sources(self) -> list[str]"), "Names of the model's nodes that it was made from.")
      .def_prop_ro(
          "reason", [](const NodeDifference& self) { return text_of(self.reason); },
          "Where and by how much the values differ.")
      .def("__repr__", [](const NodeDifference& self) { return text_of(line_of(self)); });

  nb::class_<Verification>(module, "Verification", "The result of Engine.verify; true if nothing differs.")
      .def_prop_ro("right", &Verification::right, "Whether nothing differs; the same as bool().")
      .def_prop_ro(
          "shapes", [](const Verification& self) { return shapes_dict(self.shapes); },
          nb::sig("def shapes(self) -> dict[str, tuple[int, ...]]"), "Shapes of the inputs, by name.")
      .def_ro("nodes", &Verification::nodes, "Number of nodes that were compared with their definition.")
      .def_ro("defined", &Verification::defined,
              "Number of nodes that run by their definition, and so need no comparison.")
      .def_ro("skipped", &Verification::skipped, "Number of nodes that could not be compared.")
      .def_prop_ro("differences", &differences, nb::sig("def differences(self) -> list[NodeDifference]"),
                   "The nodes that differ, in the order in which they run.")
      .def_prop_ro(
          "network", [](const Verification& self) { return text_of(self.network); },
          "How the network's outputs differ between runs or contexts, or from the results of the portable IR "
          "by its operators' definitions; empty if they do not.")
      .def_prop_ro(
          "undecided", [](const Verification& self) { return texts(self.undecided); },
          nb::sig("def undecided(self) -> list[str]"),
          "Names of outputs that were not compared with the portable IR's: random numbers without a seed, "
          "and results that rounding decides.")
      .def_prop_ro(
          "reproducer",
          [](const Verification& self) -> nb::object {
            if (self.reproducer.empty()) return nb::none();
            return text_of(self.reproducer.string());
          },
          nb::sig("def reproducer(self) -> str | None"),
          "Path of the ONNX model that was written for the first node that differs; None without one.")
      .def("__bool__", &Verification::right)
      .def("_repr_html_", &verification_html, nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", [](const Verification& self) { return text_of(line_of(self)); });
}

} // namespace lanner::python
