#include <stdexcept>

#include <lanner/error.h>
#include <lanner/task.h>

#include "base/text/literal.h"
#include "fuzz/targets.h"
#include "tasks/declare/metadata.h"

namespace lanner::fuzz {
namespace {

/// An Error is a valid answer, but for this part only.
void attempt(auto&& part) {
  try {
    part();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
}

} // namespace

/// A task as JSON, a Python literal, and every metadata key that is read.
void read_task(std::span<const std::byte> input) {
  const std::string_view text = as_text(input);
  attempt([&] {
    const Task task = Task::from_json(text);
    if (Task::from_json(task.to_json()) != task)
      throw std::logic_error("a task changes when saved and loaded");
  });
  attempt([&] { parse_literal(text, small_limits()); });
  const std::string value(text);
  for (const char* key : {"names", "task", "kpt_shape", "labels", "lanner.task", "lanner.labels",
                          "lanner.boxes", "lanner.iou_threshold"})
    attempt([&] {
      std::map<std::string, std::string> metadata{{"names", "['a']"}, {"stride", "32"}};
      metadata[key] = value;
      tasks::declared_task(metadata, {});
    });
}

} // namespace lanner::fuzz
