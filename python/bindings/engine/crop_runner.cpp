// lanner.tasks.CropRunner: a second network on the crops of boxes.

#include <optional>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/crop_runner.h>
#include <lanner/error.h>

#include "calls/check.h"
#include "calls/gil.h"
#include "engine/engine.h"
#include "engine/tasks.h"

namespace lanner::python {
namespace {

class PyCropRunner {
public:
  PyCropRunner(const PyEngine& engine, nb::handle task, nb::handle preprocess, float margin,
               nb::handle classes, std::optional<std::int64_t> max_boxes, std::optional<int> batch)
      : runner_(engine.get(), to_task(task), options_of(preprocess, margin, max_boxes, batch)) {
    if (classes.is_none()) return;
    check(!nb::isinstance<nb::str>(classes), ErrorCode::invalid_argument,
          "classes: expected a list of labels and numbers, got one word; write [{}]",
          nb::cast<std::string>(nb::repr(classes)));
    classes_ = nb::list(classes);
  }

  nb::object call(nb::handle picture, nb::object detections) {
    check(nb::isinstance<PyDetections>(detections), ErrorCode::invalid_argument,
          "detections: expected lanner.tasks.Detections, got {}",
          nb::cast<std::string>(nb::repr(detections.type().attr("__name__"))));
    const Image image = to_picture(picture);
    auto& found = nb::cast<PyDetections&>(detections);
    const std::vector<std::int64_t> classes = numbers_of(*found.task);
    TaskResult result = found.result; // a copy: other threads may read it
    {
      const ReleasedGil released;
      runner_.run(image, result, classes);
    }
    found.result = std::move(result);
    return detections;
  }

  const CropRunner& get() const { return runner_; }

private:
  static CropOptions options_of(nb::handle preprocess, float margin, std::optional<std::int64_t> max_boxes,
                                std::optional<int> batch) {
    CropOptions options;
    if (!preprocess.is_none())
      options.preprocess = to_value<Preprocess>("preprocess", preprocess, "a lanner.Preprocess");
    options.margin = margin;
    check(!max_boxes || *max_boxes > 0, ErrorCode::invalid_argument,
          "max_boxes {}: expected 1 or more, or None", max_boxes.value_or(0));
    check(!batch || *batch > 0, ErrorCode::invalid_argument, "batch {}: expected 1 or more, or None",
          batch.value_or(0));
    options.max_boxes = max_boxes.value_or(0);
    options.batch = batch.value_or(0);
    return options;
  }

  /// Class numbers by the labels of the first network.
  std::vector<std::int64_t> numbers_of(const Task& first) const {
    std::vector<std::int64_t> numbers;
    for (const nb::handle one : classes_)
      numbers.push_back(class_number(first, nb::cast<std::string>(nb::str(one))));
    return numbers;
  }

  CropRunner runner_;
  nb::list classes_;
};

} // namespace

void register_crop_runner(nb::module_& module) {
  nb::class_<PyCropRunner>(module, "CropRunner",
                           "Runs a second network on the region of each box of a result, like a classifier "
                           "after a detector. For one thread; any number may share an engine.")
      .def(nb::init<const PyEngine&, nb::handle, nb::handle, float, nb::handle, std::optional<std::int64_t>,
                    std::optional<int>>(),
           nb::arg("engine"), nb::arg("task") = nb::none(), nb::kw_only(), nb::arg("preprocess") = nb::none(),
           nb::arg("margin") = 0.f, nb::arg("classes") = nb::none(), nb::arg("max_boxes") = nb::none(),
           nb::arg("batch") = nb::none(),
           nb::sig(
               "def __init__(self, engine: Engine, task: str | dict[str, object] | None = None, *, "
               "preprocess: "
               "Preprocess | None = None, margin: float = 0.0, classes: Sequence[str | int] | None = None, "
               "max_boxes: int | None = None, batch: int | None = None) -> None"),
           "Raises InvalidArgument if the second network has no task for pictures.\n\nengine: the second "
           "network\ntask: its task, as TaskReader takes it\npreprocess: its preprocessing, as TaskReader "
           "takes "
           "it\nmargin: margin around a box, as a fraction of its sides\nclasses: labels or numbers "
           "of "
           "the first network whose boxes are run; default all\nmax_boxes: at most this many of the best "
           "boxes\nbatch: boxes in one run, if the engine's batch size is open; default: as many as it "
           "accepts, at most 8")
      .def("__call__", &PyCropRunner::call, nb::arg("image"), nb::arg("detections"),
           nb::sig("def __call__(self, image: Image | Frame, detections: Detections) -> Detections"),
           "Fills in `detections.crops`, and returns the detections.\n\nimage: the picture that they are "
           "of\ndetections: boxes of the first network")
      .def_prop_ro(
          "task", [](const PyCropRunner& self) { return task_dict(self.get().task()); },
          nb::sig("def task(self) -> dict[str, Any]"), "The second network's complete task.")
      .def_prop_ro(
          "reason", [](const PyCropRunner& self) { return self.get().reason(); },
          "One line: what the outputs mean and how that was determined.");
}

} // namespace lanner::python
