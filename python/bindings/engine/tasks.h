#pragma once
// Results of a network for a picture.

#include <memory>

#include <lanner/task.h>

#include "calls/bindings.h"

namespace lanner::python {

/// One picture's result, with the task that defines its meaning.
struct PyResult {
  TaskResult result;
  std::shared_ptr<const Task> task;
};
struct PyClassification : PyResult {};
struct PyDetections : PyResult {};
struct PySemanticMap : PyResult {};
struct PyDepthMap : PyResult {};
struct PyPicture : PyResult {};
struct PyEmbedding : PyResult {};

/// Converts the result to the class of its kind.
nb::object typed(PyResult result);
/// A task from None, a kind, JSON or a dict.
Task to_task(nb::handle given);
nb::object task_dict(const Task& task);
/// The image of a lanner.Image or a lanner.Frame.
Image to_picture(nb::handle object);

void register_crop_runner(nb::module_& module);

} // namespace lanner::python
