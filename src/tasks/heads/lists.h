#pragma once
// Heads whose networks give lists: boxes, classes and scores of what they kept.

#include "tasks/heads/head.h"

namespace lanner::tasks {

inline constexpr TaskKind list_kinds[] = {TaskKind::detect, TaskKind::segment, TaskKind::pose};

/// Parts `boxes` [K, 4], `labels` [K], `scores` [K], and `count` where there is one.
Candidates decode_lists(const HeadRun& run);

/// The kind wanted, else what the parts say; false where a part of it is missing.
bool list_kind(const Facts& facts, bool masks, bool keypoints, TaskKind& kind);

} // namespace lanner::tasks
