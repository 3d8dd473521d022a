#pragma once
// What a model's metadata says of its task.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/task.h>

namespace lanner::tasks {

/// A task as metadata has it, and which keys said so.
struct Declared {
  Task task;
  std::vector<std::string> keys;
  bool end_to_end = false; ///< ultralytics' `end2end`.
  /// By which boxes are suppressed where the network leaves that to others: what ultralytics does.
  std::optional<float> iou_threshold;
  std::vector<std::string>
      offered; ///< Labels of a key that anyone may use: taken where they are as many as the classes.
  std::string offered_key;
};

/// Of `lanner.task` and the older keys beside it, else of ultralytics' keys. Only fields that `given` leaves
/// open are read. Throws Error{bad_data} with the key.
Declared declared_task(const std::map<std::string, std::string>& metadata, const Task& given);

} // namespace lanner::tasks
