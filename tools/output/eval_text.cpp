#include "output/eval_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "output/console.h"

namespace lanner::tool {
namespace {

constexpr std::size_t most_classes = 100, few_classes = 20, most_worst = 5;

/// Key by which classes are sorted; NaN where there was nothing to measure, which comes last.
double order_of(const ClassEvaluation& one) {
  const auto precision = std::ranges::find_if(
      one.metrics, [](const Metric& metric) { return metric.title.ends_with("AP50-95"); });
  const double value = precision == one.metrics.end() ? one.metrics[0].value : precision->value;
  return std::isnan(value) ? 2 : value;
}

std::string classes_text(const Evaluation& evaluation) {
  if (evaluation.classes.empty()) return {};
  std::vector<std::string> headings{"class", counted_noun(evaluation.kind)};
  for (const Metric& metric : evaluation.classes[0].metrics) headings.push_back(metric.title);
  std::vector<const ClassEvaluation*> shown;
  for (const ClassEvaluation& one : evaluation.classes) shown.push_back(&one);
  std::string left_out;
  if (shown.size() > most_classes) {
    std::ranges::stable_sort(shown, {}, [](const ClassEvaluation* one) { return order_of(*one); });
    left_out =
        fmt::format("the {} lowest of {} classes; --json and --report have all\n", few_classes, shown.size());
    shown.resize(few_classes);
  }
  Table table(headings);
  for (const ClassEvaluation* one : shown) {
    std::vector<std::string> row{one->label, std::to_string(one->count)};
    for (const Metric& metric : one->metrics) row.push_back(metric_text(metric.value));
    table.add(std::move(row));
  }
  return "\n" + table.text() + left_out;
}

std::string worst_text(const Evaluation& evaluation) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most_worst, evaluation.worst.size()); ++i)
    text += fmt::format("  {}: {}\n", evaluation.worst[i].source, evaluation.worst[i].caption);
  return text.empty() ? text : "\nthe worst pictures\n" + text;
}

} // namespace

std::string metric_text(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.4f}", value);
}

const char* counted_noun(TaskKind kind) {
  return kind == TaskKind::classify ? "pictures" : kind == TaskKind::semantic ? "pixels" : "objects";
}

std::string lead_text(const Evaluation& evaluation) {
  std::string text = fmt::format(
      "{} picture{} in {:.2f} s, {:.1f} a second", evaluation.images, evaluation.images == 1 ? "" : "s",
      evaluation.seconds,
      evaluation.seconds > 0 ? static_cast<double>(evaluation.images) / evaluation.seconds : 0.);
  if (evaluation.failed > 0) text += fmt::format("; {} could not be read", evaluation.failed);
  return text;
}

std::string worst_note(const Evaluation& evaluation) {
  if (evaluation.kind == TaskKind::classify) return "Wrong answers, the most confident first.";
  if (evaluation.kind == TaskKind::semantic) return "The lowest mIoU first.";
  return fmt::format("The lowest F1 at an overlap of 0.5 first, with the answers from a score of {:.3f} on.",
                     evaluation.threshold);
}

std::string evaluation_text(const Evaluation& evaluation) {
  std::size_t width = 0;
  for (const Metric& metric : evaluation.metrics) width = std::max(width, metric.title.size());
  std::string text = lead_text(evaluation) + "\n\n";
  for (const Metric& metric : evaluation.metrics)
    text += fmt::format("{:<{}}  {}\n", metric.title, width, metric_text(metric.value));
  return text + classes_text(evaluation) + worst_text(evaluation);
}

} // namespace lanner::tool
