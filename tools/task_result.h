#pragma once
// The command's answers as the library's results.

#include <vector>

#include <lanner/image.h>
#include <lanner/task.h>

#include "task.h"

namespace lanner::tool {

lanner::Task to_task(const Task& task);
/// Of a picture of this size; task none has no result.
TaskResult to_result(const Task& task, const std::vector<Answer>& answers, std::int32_t width,
                     std::int32_t height);

/// A copy of the picture (RGB, same size) with the answers on it.
Image annotate(const Image& picture, const Task& task, const std::vector<Answer>& answers);

} // namespace lanner::tool
