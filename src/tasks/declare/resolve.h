#pragma once
// Resolves one task from given fields, metadata and outputs.

#include <map>
#include <string>

#include <lanner/task.h>

#include "tasks/read/reading.h"

namespace lanner::tasks {

/// resolve_task() for an engine with these outputs and metadata; `facts.wanted` are the given fields.
ResolvedTask resolve(Facts facts, const std::map<std::string, std::string>& metadata);

/// Outputs and the input's size.
Facts facts_of(const Engine& engine, const Task& given);

/// Whether the head has rows of scores, one for each class, so that softmax can be taken of them.
bool scored_by_row(const Task& task);
/// Whether the head's boxes are offsets from anchors.
bool anchored(const Task& task);

/// Whether the field of this name applies to such a task.
bool is_used(std::string_view key, const Task& task);

/// Throws Error{invalid_argument} for a field of `given` that does not apply to the resolved task.
void check_used(const Task& given, const Task& found);

} // namespace lanner::tasks
