#pragma once
// Heads whose networks output lists: boxes, classes and scores of the final detections.

#include "tasks/heads/head.h"

namespace lanner::tasks {

inline constexpr TaskKind list_kinds[] = {TaskKind::detect, TaskKind::segment, TaskKind::pose};

/// Parts `boxes` [K, 4], `labels` [K], `scores` [K], and `count` where there is one.
Candidates decode_lists(const HeadRun& run);

/// The requested kind, else the one that the parts imply; false where a part of it is missing.
bool list_kind(const Facts& facts, bool masks, bool keypoints, TaskKind& kind);

} // namespace lanner::tasks
