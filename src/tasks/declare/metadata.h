#pragma once
// What a model's metadata says about its task.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/task.h>

namespace lanner::tasks {

/// A task from metadata, and the keys that it came from.
struct Declared {
  Task task;
  std::vector<std::string> keys;
  bool end_to_end = false; ///< ultralytics' `end2end`.
  /// Suppression for networks that do not suppress themselves: ultralytics' defaults.
  std::optional<float> iou_threshold;
  std::vector<std::string>
      offered; ///< Labels from a common key: used where their number equals the number of classes.
  std::string offered_key;
};

/// From `lanner.task` and the older keys, else from ultralytics' keys. Reads only fields that `given` leaves
/// open. Throws Error{bad_data} with the key.
Declared declared_task(const std::map<std::string, std::string>& metadata, const Task& given);

} // namespace lanner::tasks
