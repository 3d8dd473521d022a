#pragma once
// What a network said of a picture, as Python has it.

#include <memory>

#include <lanner/task.h>

#include "calls/bindings.h"

namespace lanner::python {

/// One picture's result; the task says what its numbers mean.
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

/// As the class of its kind.
nb::object typed(PyResult result);
/// A task of None, a word, JSON or a dict.
Task to_task(nb::handle given);
nb::object task_dict(const Task& task);
/// Of a lanner.Image or a lanner.Frame.
Image to_picture(nb::handle object);

void register_crop_runner(nb::module_& module);

} // namespace lanner::python
