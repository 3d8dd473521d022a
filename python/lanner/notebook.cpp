#include "notebook.h"

#include <fmt/format.h>

#include "check.h"

namespace lanner::python {
namespace {

/// In lines of their own where there are several.
std::string list_of(std::string_view what, const std::vector<Binding>& bindings) {
  constexpr std::size_t most = 16;
  std::string text = fmt::format(",\n  {}=[", what);
  for (std::size_t i = 0; i < std::min(most, bindings.size()); ++i)
    text += (i > 0 ? ",\n    " : "") + bindings[i].to_string();
  if (bindings.size() > most) text += fmt::format(",\n    and {} more", bindings.size() - most);
  return text + "]";
}

nb::object escaped(std::string_view text) {
  return nb::module_::import_("html").attr("escape")(text_of(text, "backslashreplace"));
}

nb::object row(std::string_view kind, std::string_view text) {
  return nb::str(
             "<tr><th style='text-align:left'>{}</th><td style='text-align:left'><code>{}</code></td></tr>")
      .attr("format")(escaped(kind), escaped(text));
}

} // namespace

std::string engine_text(const Engine& engine) {
  return fmt::format("lanner.Engine(name={}, device={}, threads={}{}{})", engine.name(),
                     engine.device().to_string(), engine.threads(), list_of("inputs", engine.inputs()),
                     list_of("outputs", engine.outputs()));
}

nb::object engine_html(const Engine& engine) {
  nb::list rows;
  for (const Binding& input : engine.inputs()) rows.append(row("input", input.to_string()));
  for (const Binding& output : engine.outputs()) rows.append(row("output", output.to_string()));
  rows.append(row("device", fmt::format("{}, {} {}", engine.device().to_string(), engine.threads(),
                                        engine.threads() == 1 ? "thread" : "threads")));
  return nb::str("<table><caption>lanner.Engine <b>{}</b></caption>{}</table>")
      .attr("format")(escaped(engine.name()), nb::str("").attr("join")(rows));
}

std::string context_text(const Engine& engine, int threads) {
  return fmt::format("lanner.Context(of {}, device={}, threads={})", engine.name(),
                     engine.device().to_string(), threads);
}

nb::object tensor_text(nb::handle self) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  const std::string layout =
      tensor.layout().row_major() ? "" : fmt::format(", layout={}", tensor.layout().to_string());
  const nb::object about = nb::str("dtype={}, shape={}, device={}{}")
                               .attr("format")(self.attr("dtype"), self.attr("shape"), self.attr("device"),
                                               nb::str(layout.c_str()));
  nb::object values = nb::str("");
  if (tensor.device().is_host()) {
    try {
      const nb::module_ numpy = nb::module_::import_("numpy");
      values = nb::str("{}, ").attr("format")(numpy.attr("array2string")(
          numpy.attr("asarray")(self), nb::arg("threshold") = 24, nb::arg("edgeitems") = 2,
          nb::arg("precision") = 5, nb::arg("separator") = ", ", nb::arg("prefix") = "lanner.Tensor("));
    } catch (nb::python_error& error) {
      // Types of ml_dtypes, where that package is not there: the rest can be told.
      if (!error.matches(PyExc_ImportError)) throw;
    }
  }
  return nb::str("lanner.Tensor({}{})").attr("format")(values, about);
}

} // namespace lanner::python
