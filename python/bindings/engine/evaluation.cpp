#include "engine/evaluation.h"

#include <cmath>

#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/evaluation.h>

#include "calls/check.h"
#include "engine/engine.h"
#include "engine/tasks.h"

namespace lanner::python {
namespace {

/// An evaluation, with the task that its worst pictures are drawn with.
struct PyEvaluation {
  Evaluation evaluation;
  Task task;
  std::vector<std::string> failures;
};

struct Arguments {
  nb::handle data, images, task, preprocess, limits;
  std::string input;
  int batch;
  std::optional<int> ignore;
  std::size_t worst;
  nb::object progress;
};

/// Issues one warning for all pictures that could not be read.
void warn_of(const std::vector<std::string>& failures, std::int64_t measured) {
  if (failures.empty()) return;
  const std::string text =
      fmt::format("evaluate: {} of {} pictures could not be read: {}{}", failures.size(),
                  failures.size() + static_cast<std::size_t>(measured), failures[0],
                  failures.size() > 1 ? fmt::format(" (and {} more, in failures)", failures.size() - 1) : "");
  nb::module_::import_("warnings").attr("warn")(text_of(text), nb::arg("stacklevel") = 2);
}

PyEvaluation run(const PyEngine& engine, const Arguments& arguments) {
  const Task given = to_task(arguments.task);
  DatasetOptions options;
  if (!arguments.images.is_none()) options.images = path_of(arguments.images);
  options.ignore = arguments.ignore;
  options.limits = to_limits(arguments.limits);
  const std::string path = path_of(arguments.data);
  EvaluateOptions how;
  how.input = arguments.input;
  if (!arguments.preprocess.is_none())
    how.preprocess = to_value<Preprocess>("preprocess", arguments.preprocess, "a lanner.Preprocess");
  how.batch = arguments.batch;
  how.worst = arguments.worst;
  how.limits = options.limits;
  PyEvaluation result;
  how.on_failed = [&](const Error& error) { result.failures.push_back(error.message()); };
  Interruptible interruptible(arguments.progress);
  how.control = interruptible.control();
  interruptible.run([&] {
    const ResolvedTask found = resolve_task(engine.get(), given);
    std::string measured;
    result.task = evaluation_task(found.task, given, measured);
    options.classes = class_count(engine.get(), result.task);
    const Dataset data = Dataset::open(path, result.task, options);
    result.evaluation = evaluate(engine.get(), result.task, data, how);
    result.evaluation.notes.insert(result.evaluation.notes.begin(), "task " + found.reason);
    result.task = data.named(result.task);
    if (!measured.empty()) result.evaluation.notes.push_back(measured);
  });
  warn_of(result.failures, result.evaluation.images);
  return result;
}

nb::object field_of(const PyEvaluation& self, const char* name) {
  return nb::module_::import_("json").attr("loads")(self.evaluation.to_json())[name];
}

/// A metric as shown in the table of classes.
std::string number_text(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.4f}", value);
}

std::string text_html(const std::string& text) {
  std::string html;
  for (const char c : text) {
    if (c == '<')
      html += "&lt;";
    else if (c == '&')
      html += "&amp;";
    else
      html += c;
  }
  return html;
}

nb::object html_of(const PyEvaluation& self) {
  const Evaluation& evaluation = self.evaluation;
  std::string html = "<table><tbody>";
  for (const Metric& metric : evaluation.metrics)
    html += fmt::format("<tr><th style=\"text-align:left\">{}</th><td>{}</td></tr>", text_html(metric.title),
                        number_text(metric.value));
  html += "</tbody></table>";
  if (!evaluation.classes.empty()) {
    html += "<details><summary>classes</summary><table><thead><tr><th>class</th><th>count</th>";
    for (const Metric& metric : evaluation.classes[0].metrics)
      html += fmt::format("<th>{}</th>", text_html(metric.title));
    html += "</tr></thead><tbody>";
    for (const ClassEvaluation& one : evaluation.classes) {
      html += fmt::format("<tr><td style=\"text-align:left\">{}</td><td>{}</td>", text_html(one.label),
                          one.count);
      for (const Metric& metric : one.metrics) html += fmt::format("<td>{}</td>", number_text(metric.value));
      html += "</tr>";
    }
    html += "</tbody></table></details>";
  }
  return text_of(html, "replace");
}

nb::object repr_of(const PyEvaluation& self) {
  std::string numbers;
  std::size_t shown = 0;
  for (const Metric& metric : self.evaluation.metrics) {
    if (shown++ == 3) break;
    numbers += fmt::format(", {} {}", metric.name, number_text(metric.value));
  }
  return text_of(fmt::format("lanner.tasks.Evaluation({}, {} pictures{})", to_string(self.evaluation.kind),
                             self.evaluation.images, numbers));
}

/// Draws ground truth and answer of one of the worst pictures.
std::pair<Image, Image> draw_worst(const PyEvaluation& self, std::int64_t i) {
  const auto count = static_cast<std::int64_t>(self.evaluation.worst.size());
  check(i >= 0 && i < count, ErrorCode::invalid_argument, "draw_worst: there is no picture {} of {}", i,
        count);
  const WorstImage& one = self.evaluation.worst[static_cast<std::size_t>(i)];
  const ReleasedGil released;
  const Image image = load_image(one.source);
  const TaskResult ground_truth =
      result_of_ground_truth(one.truth, self.evaluation.kind, one.width, one.height);
  return {draw_result(image, ground_truth, self.task), draw_result(image, one.answer, self.task)};
}

void register_class(nb::module_& module) {
  nb::class_<PyEvaluation>(module, "Evaluation", "Accuracy of a network: docs/eval.md.")
      .def_prop_ro(
          "task", [](const PyEvaluation& self) { return std::string(to_string(self.evaluation.kind)); },
          "The kind of task: `detect`.")
      .def_prop_ro(
          "images", [](const PyEvaluation& self) { return self.evaluation.images; },
          "Number of images that were measured.")
      .def_prop_ro(
          "failures", [](const PyEvaluation& self) { return self.failures; },
          "Error of each picture that could not be measured.")
      .def_prop_ro(
          "seconds", [](const PyEvaluation& self) { return self.evaluation.seconds; }, "How long it took.")
      .def_prop_ro(
          "threshold", [](const PyEvaluation& self) { return self.evaluation.threshold; },
          "For boxes: the score of the best F1, at which `precision` and `recall` are given.")
      .def_prop_ro(
          "metrics", [](const PyEvaluation& self) { return field_of(self, "metrics"); },
          nb::sig("def metrics(self) -> dict[str, float | None]"),
          "All numbers by name: `ap`, `ap50`, `top1`, `miou`...; None if there was nothing to measure.")
      .def_prop_ro(
          "per_class", [](const PyEvaluation& self) { return field_of(self, "classes"); },
          nb::sig("def per_class(self) -> list[dict[str, Any]]"),
          "For each class of the ground truth a dict: `class`, `label`, `count` and its numbers.")
      .def_prop_ro(
          "worst", [](const PyEvaluation& self) { return field_of(self, "worst"); },
          nb::sig("def worst(self) -> list[dict[str, Any]]"),
          "The worst pictures, the worst first: `source`, `score`, `caption`.")
      .def_prop_ro(
          "notes", [](const PyEvaluation& self) { return self.evaluation.notes; },
          "Assumptions: the task, how classes were matched, what was left out.")
      .def("draw_worst", &draw_worst, nb::arg("i"),
           nb::sig("def draw_worst(self, i: int) -> tuple[Image, Image]"),
           "Ground truth and answer of one of the worst pictures, drawn on it.\n\ni: its index in `worst`, "
           "from 0")
      .def(
          "to_json", [](const PyEvaluation& self) { return self.evaluation.to_json(); },
          "All of it as one JSON object, as `lanner eval --json` writes it.")
      .def("_repr_html_", &html_of, nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", &repr_of, nb::sig("def __repr__(self) -> str"));
}

} // namespace

void register_evaluation(nb::module_& module) {
  register_class(module);
  module.def(
      "evaluate",
      [](const PyEngine& engine, nb::handle data, nb::handle images, nb::handle task, nb::handle preprocess,
         const std::string& input, int batch, std::size_t worst, std::optional<int> ignore, nb::handle limits,
         nb::object progress) {
        return run(engine, {data, images, task, preprocess, limits, input, batch, ignore, worst,
                            std::move(progress)});
      },
      nb::arg("engine"), nb::arg("data"), nb::kw_only(), nb::arg("images") = nb::none(),
      nb::arg("task") = nb::none(), nb::arg("preprocess") = nb::none(), nb::arg("input") = "",
      nb::arg("batch") = 1, nb::arg("worst") = 12, nb::arg("ignore") = nb::none(),
      nb::arg("limits") = nb::none(), nb::arg("progress") = nb::none(),
      nb::sig("def evaluate(engine: Engine, data: str | os.PathLike[str], *, images: str | os.PathLike[str] "
              "| None = "
              "None, task: str | dict[str, object] | None = None, preprocess: Preprocess | None = None, "
              "input: str = "
              "'', batch: int = 1, worst: int = 12, ignore: int | None = None, limits: "
              "collections.abc.Mapping[str, "
              "float | "
              "str] | None = None, progress: collections.abc.Callable[[str, float, float], object] | None = "
              "None) -> "
              "Evaluation"),
      "Measures the accuracy of a network on pictures with known ground truth; docs/eval.md. Pictures that "
      "cannot be read are left out, with a warning.\n\nengine: the network to measure\ndata: a folder with a "
      "folder "
      "for "
      "each class, COCO's JSON, YOLO's folder or data.yaml, or a folder with `images` and `masks`\nimages: "
      "the "
      "folder of the pictures that a COCO file names\ntask: as TaskReader takes it; detections count from a "
      "score of 0.001 on, unless it sets score_threshold\npreprocess: as TaskReader takes it\ninput: name of "
      "the image input, if there are several\nbatch: pictures in one run\nworst: number of the worst "
      "pictures that are kept\nignore: value of mask pixels that are ignored; default 255\nlimits: as "
      "lanner.build takes them\nprogress: called with stage, done and total");
}

} // namespace lanner::python
