#pragma once
// From what was given, declared and seen to one task.

#include <map>
#include <string>

#include <lanner/task.h>

#include "tasks/read/reading.h"

namespace lanner::tasks {

/// As resolve_task() of an engine with these outputs and metadata; `facts.wanted` is what was given.
ResolvedTask resolve(Facts facts, const std::map<std::string, std::string>& metadata);

/// Outputs and the input's size.
Facts facts_of(const Engine& engine, const Task& given);

/// Whether the field of this name says something about such a task.
bool is_used(std::string_view key, const Task& task);

/// Throws Error{invalid_argument} for a field of `given` that says nothing about the task that was found.
void check_used(const Task& given, const Task& found);

} // namespace lanner::tasks
