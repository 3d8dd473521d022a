#include "report/eval_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lanner/doctor.h>
#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/version.h>

#include "options/limit_option.h"
#include "output/console.h"
#include "output/eval_text.h"
#include "report/assets.h"
#include "report/page_parts.h"
#include "report/run_facts.h"

namespace lanner::tool {
namespace {

constexpr std::size_t most_tiles = 6;

std::string safe(const std::string& text) {
  return html_safe(visible(text));
}

/// The most important numbers; those by size and recalls are listed with all others.
bool is_main(const Metric& metric) {
  for (const char* part : {"ar_", "_small", "_medium", "_large", "threshold"})
    if (metric.name.find(part) != std::string::npos) return false;
  return !std::isnan(metric.value);
}

std::string tiles_html(const Evaluation& evaluation) {
  std::string html = "<div class=\"tiles\">\n";
  std::size_t shown = 0;
  for (const Metric& metric : evaluation.metrics) {
    if (!is_main(metric)) continue;
    html +=
        fmt::format("<div class=\"tile\"><div class=\"what\">{}</div><div class=\"value\">{}</div></div>\n",
                    safe(metric.title), metric_text(metric.value));
    if (++shown == most_tiles) break;
  }
  return html + "</div>\n";
}

std::string metrics_html(const Evaluation& evaluation) {
  std::string html = "<dl class=\"facts numbers\">\n";
  for (const Metric& metric : evaluation.metrics)
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", safe(metric.title), metric_text(metric.value));
  return html + "</dl>\n";
}

std::string classes_html(const Evaluation& evaluation) {
  const std::vector<ClassEvaluation>& classes = evaluation.classes;
  if (classes.empty()) return {};
  const bool remarks =
      std::ranges::any_of(classes, [](const ClassEvaluation& one) { return !one.remark.empty(); });
  std::string html =
      "<section id=\"classes\"><h2>Classes</h2><p class=\"note\">A click on a heading sorts.</p>"
      "<div class=\"card scroll\"><table class=\"data sorted\"><thead><tr><th "
      "class=\"r\">number</th><th>class</th>";
  html += fmt::format("<th class=\"r\">{}</th>", counted_noun(evaluation.kind));
  for (const Metric& metric : classes[0].metrics)
    html += fmt::format("<th class=\"r\">{}</th>", safe(metric.title));
  if (remarks) html += "<th>mistakes</th>";
  html += "</tr></thead><tbody>\n";
  for (const ClassEvaluation& one : classes) {
    html += fmt::format("<tr><td class=\"r\">{}</td><td class=\"label\">{}</td><td class=\"r\">{}</td>",
                        one.number, safe(one.label), one.count);
    for (const Metric& metric : one.metrics)
      html += fmt::format("<td class=\"r bar\" style=\"--part:{:.1f}%\">{}</td>",
                          std::isnan(metric.value) ? 0 : metric.value * 100, metric_text(metric.value));
    if (remarks) html += fmt::format("<td>{}</td>", safe(one.remark));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></section>\n";
}

/// A class of a whole picture goes into the caption, as drawn words would hide a small picture.
std::string plain_html(const Image& image) {
  return fmt::format("<img alt=\"\" src=\"{}\">", data_uri(to_jpeg(image)));
}

std::string figure_html(const Image& image, const TaskResult& result, const Task& task, const char* what) {
  return fmt::format("<figure><img alt=\"{}\" src=\"{}\"><figcaption>{}</figcaption></figure>", what,
                     data_uri(to_jpeg(draw_result(image, result, task))), what);
}

/// An image that has disappeared since is left out.
std::string worst_html(const WorstImage& one, const Dataset& data, const Task& task) {
  Image image;
  try {
    image = data.image(one.picture, given_limits());
  } catch (const Error&) {
    return {};
  }
  if (image.width != one.width || image.height != one.height) return {};
  const std::string caption =
      fmt::format("<figcaption><b>{}</b> {}</figcaption>", safe(file_name(one.source)), safe(one.caption));
  if (task.kind == TaskKind::classify)
    return fmt::format("<figure class=\"card\">{}{}</figure>\n", plain_html(image), caption);
  const TaskResult truth = result_of_ground_truth(one.truth, *task.kind, one.width, one.height);
  return fmt::format("<figure class=\"card\"><div class=\"pair\">{}{}</div>{}</figure>\n",
                     figure_html(image, truth, task, "truth"), figure_html(image, one.answer, task, "answer"),
                     caption);
}

std::string worst_section(const Evaluation& evaluation, const Dataset& data, const Task& task) {
  if (evaluation.worst.empty()) return {};
  std::string html = fmt::format("<section id=\"worst\"><h2>The worst pictures</h2><p class=\"note\">{}</p>"
                                 "<div class=\"worst{}\">\n",
                                 worst_note(evaluation), task.kind == TaskKind::classify ? " single" : "");
  for (const WorstImage& one : evaluation.worst) html += worst_html(one, data, task);
  return html + "</div></section>\n";
}

std::string facts_html(const EvalReportParts& parts) {
  std::string html = "<section id=\"details\"><h2>Details</h2><div class=\"card\"><dl class=\"facts\">\n";
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, safe(text));
  };
  const std::string device = parts.engine.device().to_string();
  add("date", date());
  add("command", command_line());
  add(parts.facts.plan ? "plan" : "model", named_size(parts.model));
  for (const std::string& note : parts.evaluation.notes) add("note", note);
  add("preprocessing", parts.picture.text());
  add("device", parts.engine.device().is_host() ? fmt::format("{}, {} threads of the network",
                                                              machine_facts().cpu, parts.engine.threads())
                                                : device);
  if (parts.evaluation.failed > 0) add("not read", std::to_string(parts.evaluation.failed));
  return html + "</dl></div></section>\n";
}

} // namespace

void write_eval_report(OutputFile& file, const EvalReportParts& parts) {
  const Evaluation& evaluation = parts.evaluation;
  const std::string title = fmt::format("{} on {}", file_name(parts.model), parts.data);
  std::string main =
      fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", safe(title), safe(lead_text(evaluation)));
  main += tiles_html(evaluation);
  if (evaluation.metrics.size() > most_tiles)
    main += "<section id=\"metrics\"><h2>All numbers</h2><div class=\"card\">" + metrics_html(evaluation) +
            "</div></section>\n";
  main += worst_section(evaluation, parts.dataset, parts.task);
  main += classes_html(evaluation);
  main += facts_html(parts);
  main += fmt::format("<footer>Made by lanner {}. This page holds everything that it shows and loads "
                      "nothing.</footer>\n",
                      std::string(version()));
  write_page(file, {.title = safe(title) + " - Lanner evaluation",
                    .kind = "evaluation",
                    .styles = {page_css, eval_css},
                    .main = main,
                    .scripts = {theme_js, eval_js}});
  file.commit();
}

} // namespace lanner::tool
