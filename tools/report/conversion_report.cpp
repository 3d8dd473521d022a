#include "report/conversion_report.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include <lanner/version.h>

#include "output/console.h"
#include "output/visible.h"
#include "report/assets.h"
#include "report/page_parts.h"
#include "report/run_facts.h"

namespace lanner::tool {
namespace {

std::string safe(const std::string& text) {
  return html_safe(visible(text));
}

std::string tiles_html(const tf::Model& model) {
  const auto engines = std::ranges::count_if(model.parts(), &tf::ConvertedPart::engine);
  double seconds = 0;
  for (const tf::ConvertedPart& part : model.parts()) seconds += part.build_seconds;
  const auto native =
      std::ranges::count_if(model.nodes(), [](const tf::ConvertedNode& node) { return node.engine.empty(); });
  return "<div class=\"tiles\">\n" +
         tile("in engines", fmt::format("{:.1f}", 100 * model.share()), "%",
              "of nodes; without placeholders, constants, Identity, NoOp") +
         tile("nodes", std::to_string(model.nodes().size()), "", "with functions inlined") +
         tile("engines", std::to_string(engines), "", fmt::format("of {} parts", model.parts().size())) +
         tile("native nodes", std::to_string(native), "", "by their own kernels") +
         tile("built in", fmt::format("{:.2f}", seconds), "s", "all parts") + "</div>\n";
}

std::string bindings_html(const std::vector<Binding>& bindings) {
  std::string html;
  for (const Binding& binding : bindings) html += safe(binding.to_string()) + "<br>";
  return html;
}

std::string table_html(const char* id, const char* title, const std::string& note, const std::string& head,
                       const std::string& rows) {
  return fmt::format(
      "<section id=\"{}\"><h2>{}</h2><p class=\"note\">{}</p><div class=\"card scroll\"><table "
      "class=\"data\"><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div></section>\n",
      id, title, note, head, rows);
}

std::string parts_html(const tf::Model& model) {
  std::string rows;
  for (const tf::ConvertedPart& part : model.parts())
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"r\">{}</td><td>{}</td><td>{}</td><td "
                        "class=\"r\">{:.3f}</td></tr>\n",
                        safe(part.name), part.engine ? "engine" : "native", part.nodes,
                        bindings_html(part.inputs), bindings_html(part.outputs), part.build_seconds);
  return table_html("parts", "Parts", "In the order in which they run.",
                    "<th>part</th><th>kind</th><th class=\"r\">nodes</th><th>inputs</th><th>outputs</th><th "
                    "class=\"r\">built in s</th>",
                    rows);
}

/// `[to 8, 224]`: what an engine serves, by the part's inputs.
std::string served_text(const tf::CachedEngine& engine) {
  std::string text;
  for (const auto& [input, range] : engine.shapes) {
    if (!text.empty()) text += ", ";
    text += "[";
    for (std::size_t d = 0; d < range.max.rank(); ++d) {
      if (d > 0) text += ", ";
      const bool batch = d == 0 && range.min[d] == 0; // any smaller first size
      text += range.min[d] == range.max[d] ? std::to_string(range.max[d])
              : batch                      ? fmt::format("to {}", range.max[d])
                                           : fmt::format("{} to {}", range.min[d], range.max[d]);
    }
    text += "]";
  }
  return text;
}

std::string engines_html(const tf::Model& model) {
  std::string rows;
  for (const tf::EngineCounters& counters : model.counters()) {
    std::string shapes, native;
    for (const tf::CachedEngine& engine : counters.cached)
      shapes += fmt::format("{} in {:.2f} s<br>", safe(served_text(engine)), engine.build_seconds);
    for (const auto& [cause, runs] : counters.native)
      native += fmt::format("{} {}<br>", runs, to_string(cause));
    if (!counters.build_error.empty()) native += safe(counters.build_error);
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td "
                        "class=\"r\">{}</td><td>{}</td><td class=\"r\">{:.1f}</td></tr>\n",
                        safe(counters.engine), shapes, counters.built, counters.hits, counters.evicted,
                        native, static_cast<double>(counters.weight_bytes) / (1 << 20));
  }
  if (rows.empty()) return {};
  return table_html(
      "engines", "Engines by shape",
      "What each part's cache holds, and what it did until this page was written. Engines of a part "
      "share their weights.",
      "<th>part</th><th>shapes, built in</th><th class=\"r\">built</th><th "
      "class=\"r\">hits</th><th class=\"r\">evicted</th><th>native runs</th><th "
      "class=\"r\">weights in MiB</th>",
      rows);
}

std::string natives_html(const tf::Model& model) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const tf::ConvertedNode& node : model.nodes())
    if (node.engine.empty()) groups[{node.op, node.reason}].push_back(node.name);
  if (groups.empty()) return {};
  constexpr std::size_t shown = 20;
  std::string rows;
  for (const auto& [key, names] : groups) {
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) list += safe(names[i]) + "<br>";
    if (names.size() > shown) list += fmt::format("and {} more", names.size() - shown);
    rows += fmt::format("<tr><td>{}</td><td class=\"r\">{}</td><td>{}</td><td>{}</td></tr>\n",
                        safe(key.first), names.size(), safe(key.second), list);
  }
  return table_html("native", "Native nodes", "By operator and reason.",
                    "<th>operator</th><th class=\"r\">nodes</th><th>reason</th><th>names</th>", rows);
}

std::string facts_html(const std::string& source) {
  return fmt::format("<section id=\"details\"><h2>Details</h2><div class=\"card\"><dl class=\"facts\">\n"
                     "<dt>date</dt><dd>{}</dd>\n<dt>command</dt><dd>{}</dd>\n<dt>model</dt><dd>{}</dd>\n"
                     "</dl></div></section>\n",
                     safe(date()), safe(command_line()), safe(source));
}

} // namespace

void write_conversion_report(OutputFile& file, const std::string& source, const tf::Model& model) {
  std::string main = fmt::format("<h1>{}</h1>\n<p class=\"lead\">Which nodes of the TensorFlow model became "
                                 "engines, and why others stay native.</p>\n",
                                 safe(source));
  main +=
      tiles_html(model) + parts_html(model) + engines_html(model) + natives_html(model) + facts_html(source);
  main += fmt::format("<footer>Made by lanner {}. This page holds everything that it shows and loads "
                      "nothing.</footer>\n",
                      std::string(version()));
  write_page(file, {.title = safe(source) + " - Lanner convert",
                    .kind = "convert",
                    .styles = {page_css},
                    .main = main,
                    .scripts = {theme_js}});
  file.commit();
}

} // namespace lanner::tool
