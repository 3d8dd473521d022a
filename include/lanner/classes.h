#pragma once
// Names of a task's classes.

#include <cstdint>
#include <string>
#include <string_view>

#include <lanner/task.h>

namespace lanner {

/// The label of a class; `class 7` if it has none.
std::string class_label(const Task& task, std::int64_t number);

/// Number of the class with this name: its label, else its number as text. Throws Error{invalid_argument}
/// that lists similar labels.
std::int64_t class_number(const Task& task, std::string_view name);

} // namespace lanner
