// Errors for wrong calls: nanobind's own TypeError has many lines of C++ types.

#include <utility>

#include <lanner/nearest.h>

#include "calls/bindings.h"

// Note [Wrong calls]
// Each function of the module has a last overload that accepts anything. nanobind reaches it when no other
// overload accepts the call, and it raises one line, which lanner/_calls.py makes of the function's signature
// and the arguments. nanobind tries the overloads twice, first without implicit conversions, so the last one
// must fail in the first round: it has an argument that can be converted in the second round only. The
// package adds these overloads on import, so that the stub, which is made from the bare module, shows the
// functions without them. A function that gets another overload is a new object, and the old one cannot be
// called any more, so this happens once, before anyone has a reference to a function.

namespace {

/// Can be converted in nanobind's second round only.
struct SecondRound {};

} // namespace

template<>
struct nanobind::detail::type_caster<SecondRound> {
  NB_TYPE_CASTER(SecondRound, const_name("None"))

  bool from_python(handle, std::uint32_t flags, cleanup_list*) noexcept {
    return (flags & static_cast<std::uint32_t>(cast_flags::convert)) != 0;
  }
  static handle from_cpp(SecondRound, rv_policy, cleanup_list*) noexcept { return {}; }
};

namespace lanner::python {
namespace {

[[noreturn]] void refuse_call(nb::handle scope, const std::string& name, nb::handle self,
                              const nb::args& given, const nb::kwargs& options) {
  const nb::object line = nb::module_::import_("lanner._calls")
                              .attr("explain")(scope, name, self, nb::handle(given), nb::handle(options));
  fail_type(nb::cast<std::string>(line));
}

void add_to_function(nb::handle scope, const std::string& name, const std::string& docs) {
  nb::cpp_function_def(
      [scope, name](const nb::args& given, SecondRound, const nb::kwargs& options) {
        refuse_call(scope, name, nb::none(), given, options);
      },
      nb::scope(scope), nb::name(name.c_str()), nb::sig(fmt::format("def {}(...)", name).c_str()),
      docs.c_str(), nb::arg("given"), nb::arg("") = true, nb::arg("options"));
}

void add_to_method(nb::handle scope, const std::string& name, const std::string& docs) {
  nb::cpp_function_def(
      [scope, name](nb::handle self, const nb::args& given, SecondRound, const nb::kwargs& options) {
        refuse_call(scope, name, self, given, options);
      },
      nb::scope(scope), nb::name(name.c_str()), nb::sig(fmt::format("def {}(...)", name).c_str()),
      docs.c_str(), nb::is_method(), nb::arg("given"), nb::arg("") = true, nb::arg("options"));
}

/// The docstring without the leading signatures, as nanobind needs it for an overload.
std::string docs_of(nb::handle function) {
  const nb::object signatures = function.attr("__nb_signature__");
  const nb::object docs = signatures[0][1];
  return docs.is_none() ? std::string() : nb::cast<std::string>(docs);
}

void add_to_all(nb::handle scope) {
  const nb::dict members = nb::cast<nb::dict>(
      nb::module_::import_("builtins")
          .attr("dict")(scope.attr("__dict__"))); // a copy: it changes during the iteration
  for (const auto& [key, member] : members) {
    const std::string kind = nb::cast<std::string>(member.type().attr("__name__"));
    const std::string name = nb::cast<std::string>(key);
    if (name == "__eq__") continue;              // for unknown types Python asks the other operand
    if (name == "_refuse_wrong_calls") continue; // is being called
    if (kind == "nb_func")
      add_to_function(scope, name, docs_of(member));
    else if (kind == "nb_method")
      add_to_method(scope, name, docs_of(member));
    else if (nb::isinstance<nb::type_object>(member) && scope.ptr() != member.ptr() &&
             nb::isinstance<nb::module_>(scope))
      add_to_all(member);
  }
}

} // namespace

void register_wrong_calls(nb::module_& module) {
  module.def("_refuse_wrong_calls", [module] {
    static bool done = false; // Under the GIL.
    if (!std::exchange(done, true)) add_to_all(module);
  });
  module.def("_did_you_mean", [](const std::string& name, const std::vector<std::string>& names) {
    return did_you_mean(name, names);
  });
}

} // namespace lanner::python
