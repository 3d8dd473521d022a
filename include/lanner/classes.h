#pragma once
// Names of a task's classes.

#include <cstdint>
#include <string>
#include <string_view>

#include <lanner/task.h>

namespace lanner {

/// The label of a class; `class 7` where there is none.
std::string class_label(const Task& task, std::int64_t number);

/// Number of the class that is called so: by its label, else by its number. Throws Error{invalid_argument}
/// that names labels like it.
std::int64_t class_number(const Task& task, std::string_view name);

} // namespace lanner
