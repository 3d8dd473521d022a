#include <lanner/classes.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/check.h"
#include "tasks/declare/names.h"

namespace lanner {

std::string class_label(const Task& task, std::int64_t number) {
  const bool known = number >= 0 && number < static_cast<std::int64_t>(task.labels.size());
  return known ? task.labels[static_cast<std::size_t>(number)] : fmt::format("class {}", number);
}

std::int64_t class_number(const Task& task, std::string_view name) {
  const auto label = std::ranges::find(task.labels, name);
  if (label != task.labels.end()) return label - task.labels.begin();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && end == name.data() + name.size() && number >= 0;
  const auto known = static_cast<std::int64_t>(task.labels.size());
  check(whole && (known == 0 || number < known), ErrorCode::invalid_argument,
        "class '{}': not among the network's {}{}", one_line(name, tasks::shown_text),
        known == 0 ? std::string("numbers, and it has no labels") : fmt::format("{} classes", known),
        did_you_mean(name, task.labels));
  return number;
}

} // namespace lanner
