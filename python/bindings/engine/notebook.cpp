#include "engine/notebook.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calls/check.h"

namespace lanner::python {
namespace {

/// Bindings, one line each if there are several.
std::string list_of(std::string_view what, const std::vector<Binding>& bindings) {
  constexpr std::size_t most = 16;
  std::string text = fmt::format(",\n  {}=[", what);
  for (std::size_t i = 0; i < std::min(most, bindings.size()); ++i)
    text += (i > 0 ? ",\n    " : "") + bindings[i].to_string();
  if (bindings.size() > most) text += fmt::format(",\n    and {} more", bindings.size() - most);
  return text + "]";
}

/// Adds a row for each of the first bindings.
void add_bindings(Rows& rows, std::string_view what, const std::vector<Binding>& bindings) {
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < std::min(most, bindings.size()); ++i)
    rows.emplace_back(what, bindings[i].to_string());
  if (bindings.size() > most) rows.emplace_back(what, fmt::format("and {} more", bindings.size() - most));
}

std::string device_of(const Engine& engine, int threads) {
  return fmt::format("{}, {} {}", engine.device().to_string(), threads, threads == 1 ? "thread" : "threads");
}

nb::object numbers_of(nb::handle self, const char* prefix) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("array2string")(numpy.attr("asarray")(self), nb::arg("threshold") = 24,
                                    nb::arg("edgeitems") = 2, nb::arg("precision") = 5,
                                    nb::arg("separator") = ", ", nb::arg("prefix") = prefix);
}

/// The first elements, in one line.
nb::object first_of(nb::handle self) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("array2string")(numpy.attr("asarray")(self).attr("ravel")(), nb::arg("threshold") = 8,
                                    nb::arg("edgeitems") = 4, nb::arg("precision") = 5,
                                    nb::arg("separator") = ", ", nb::arg("max_line_width") = 1000);
}

/// Calls `body` unless NumPy lacks the type: those of ml_dtypes if that package is missing.
template<typename Body>
void where_numpy_can(Body&& body) {
  try {
    body();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
}

/// Minimum, maximum and mean of finite elements, and how many are not finite.
void add_range(Rows& rows, nb::handle self) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(self);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const bool numbers = kind == "i" || kind == "u" || kind == "f" || kind == "V";
  const auto size = nb::cast<std::int64_t>(array.attr("size"));
  constexpr std::int64_t most = 1 << 24; // they are copied as doubles
  if (!numbers || size == 0) return;
  if (size > most) {
    rows.emplace_back("values", fmt::format("more than {} are not looked at", most));
    return;
  }
  nb::object finite = array.attr("astype")("float64").attr("ravel")();
  const auto all = nb::len(finite);
  finite = finite[numpy.attr("isfinite")(finite)];
  const auto count = nb::len(finite);
  if (count > 0)
    rows.emplace_back("values",
                      fmt::format("{:.6g} to {:.6g}, mean {:.6g}", nb::cast<double>(finite.attr("min")()),
                                  nb::cast<double>(finite.attr("max")()),
                                  nb::cast<double>(finite.attr("mean")())));
  if (count < all) rows.emplace_back("not finite", fmt::format("{} of {}", all - count, all));
}

} // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '&')
      escaped += "&amp;";
    else if (letter == '<')
      escaped += "&lt;";
    else if (letter == '>')
      escaped += "&gt;";
    else if (letter == '"')
      escaped += "&quot;";
    else if (letter == '\'')
      escaped += "&#x27;";
    else
      escaped += letter;
  }
  return escaped;
}

nb::object html_table(std::string_view kind, std::string_view name, const Rows& rows,
                      std::string_view below) {
  std::string body;
  for (const auto& [what, text] : rows)
    body += fmt::format("<tr><th style='text-align:left'>{}</th><td style='text-align:left'>"
                        "<code style='white-space:pre-wrap'>{}</code></td></tr>",
                        html_escaped(what), html_escaped(text));
  const std::string bold = name.empty() ? "" : fmt::format(" <b>{}</b>", html_escaped(name));
  return text_of(
      fmt::format(
          "<table><caption style='text-align:left;white-space:nowrap'>lanner.{}{}</caption>{}</table>{}",
          html_escaped(kind), bold, body, below),
      "backslashreplace");
}

std::string html_columns(const std::vector<std::string>& headings,
                         const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<table><tr>";
  for (const std::string& heading : headings)
    text += fmt::format("<th style='text-align:left'>{}</th>", html_escaped(heading));
  text += "</tr>";
  for (const std::vector<std::string>& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row)
      text += fmt::format("<td style='text-align:left'>{}</td>", html_escaped(cell));
    text += "</tr>";
  }
  return text + "</table>";
}

std::string html_picture(const Image& image, std::int32_t widest) {
  const nb::object png = png_of(image, widest);
  if (png.is_none()) return {};
  const nb::object text = nb::module_::import_("base64").attr("b64encode")(png).attr("decode")("ascii");
  return fmt::format("<img alt='' style='max-width:100%' src='data:image/png;base64,{}'>",
                     nb::cast<std::string>(text));
}

std::string engine_text(const Engine& engine) {
  return fmt::format("lanner.Engine(name={}, device={}, threads={}{}{})", engine.name(),
                     engine.device().to_string(), engine.threads(), list_of("inputs", engine.inputs()),
                     list_of("outputs", engine.outputs()));
}

nb::object engine_html(const Engine& engine) {
  Rows rows;
  add_bindings(rows, "input", engine.inputs());
  add_bindings(rows, "output", engine.outputs());
  rows.emplace_back("device", device_of(engine, engine.threads()));
  return html_table("Engine", engine.name(), rows);
}

std::string context_text(const Engine& engine, int threads) {
  return fmt::format("lanner.Context(of {}, device={}, threads={})", engine.name(),
                     engine.device().to_string(), threads);
}

nb::object context_html(const Engine& engine, int threads, std::uint64_t arena_bytes) {
  Rows rows;
  add_bindings(rows, "input", engine.inputs());
  add_bindings(rows, "output", engine.outputs());
  rows.emplace_back("device", device_of(engine, threads));
  rows.emplace_back("working memory", fmt::format("{} bytes", arena_bytes));
  return html_table("Context", "of " + engine.name(), rows);
}

nb::object tensor_text(nb::handle self) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  const std::string layout =
      tensor.layout().row_major() ? "" : fmt::format(", layout={}", tensor.layout().to_string());
  const nb::object about = nb::str("dtype={}, shape={}, device={}{}")
                               .attr("format")(self.attr("dtype"), self.attr("shape"), self.attr("device"),
                                               nb::str(layout.c_str()));
  nb::object values = nb::str("");
  if (tensor.device().is_host())
    where_numpy_can([&] { values = nb::str("{}, ").attr("format")(numbers_of(self, "lanner.Tensor(")); });
  return nb::str("lanner.Tensor({}{})").attr("format")(values, about);
}

nb::object tensor_html(nb::handle self) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  Rows rows{{"shape", shown(nb::object(self.attr("shape")))},
            {"dtype", std::string(bytes_of(nb::object(self.attr("dtype")), "strict"))},
            {"device", tensor.device().to_string()},
            {"size", fmt::format("{} bytes", tensor.bytes())}};
  if (!tensor.layout().row_major()) rows.emplace_back("layout", tensor.layout().to_string());
  if (tensor.device().is_host())
    where_numpy_can([&] {
      add_range(rows, self);
      rows.emplace_back("elements", bytes_of(first_of(self), "backslashreplace"));
    });
  return html_table("Tensor", "", rows);
}

nb::object preprocess_html(const Preprocess& spec) {
  const nb::module_ json = nb::module_::import_("json");
  const nb::object fields = json.attr("loads")(spec.to_json());
  const Preprocess standard;
  const nb::object defaults = json.attr("loads")(standard.to_json());
  Rows rows;
  for (const auto& [name, value] : nb::cast<nb::dict>(fields)) {
    const bool same = nb::object(nb::borrow(value)).equal(defaults[name]);
    rows.emplace_back(nb::cast<std::string>(name),
                      nb::cast<std::string>(json.attr("dumps")(value)) + (same ? " (default)" : ""));
  }
  return html_table("Preprocess", "", rows);
}

nb::object verification_html(const Verification& found) {
  constexpr std::size_t most = 20;
  Rows rows{{"nodes compared", std::to_string(found.nodes)},
            {"run by their definition", std::to_string(found.defined)},
            {"skipped", std::to_string(found.skipped)}};
  if (!found.network.empty()) rows.emplace_back("network", found.network);
  if (!found.reproducer.empty()) rows.emplace_back("reproducer", found.reproducer.string());
  std::vector<std::vector<std::string>> nodes;
  for (const NodeDifference& node : found.differences) {
    if (nodes.size() == most) break;
    nodes.push_back({node.name, node.op, node.backend + ":" + node.kernel, node.reason});
  }
  std::string below = nodes.empty() ? "" : html_columns({"node", "operator", "kernel", "difference"}, nodes);
  if (found.differences.size() > most)
    below += fmt::format("<p>and {} more</p>", found.differences.size() - most);
  return html_table("Verification", found.right() ? "right" : "wrong", rows, below);
}

} // namespace lanner::python
