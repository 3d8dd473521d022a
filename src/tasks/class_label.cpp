#include "tasks/class_label.h"

#include <fmt/format.h>

namespace lanner {

std::string class_label(const Task& task, std::int64_t number) {
  const bool known = number >= 0 && number < static_cast<std::int64_t>(task.labels.size());
  return known ? task.labels[static_cast<std::size_t>(number)] : fmt::format("class {}", number);
}

} // namespace lanner
