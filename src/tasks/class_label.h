#pragma once
// Names of classes.

#include <cstdint>
#include <string>

#include <lanner/task.h>

namespace lanner {

/// The label of a class; `class 7` where there is none.
std::string class_label(const Task& task, std::int64_t number);

} // namespace lanner
