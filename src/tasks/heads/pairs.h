#pragma once
// Heads with boxes in one output and scores in another, row by row.

#include "tasks/heads/head.h"

namespace lanner::tasks {

struct PairOutputs {
  const Binding *boxes = nullptr, *scores = nullptr, *anchors = nullptr;
  bool boxes_named = false;  ///< `boxes` and `scores`: inputs of a suppression.
  bool logits_named = false; ///< `logits` and `pred_boxes`: outputs of a transformer's head.
  explicit operator bool() const { return boxes && scores; }
  bool anchored(const Facts& facts) const { return anchors || !facts.wanted.anchors.empty(); }
};
/// Boxes [N, K, 4] and scores [N, K, C]: the given parts, else by name, or the only ones with such shapes.
PairOutputs pair_outputs(const Facts& facts);

/// Adds the reading of a pair by this head where labels agree with the number of classes.
void add_pair(const Facts& facts, const PairOutputs& outputs, const HeadRow& row, Ground ground,
              std::vector<Reading>& readings);

/// Candidates of the parts `boxes` and `scores` that pass; every class of a row, or its best.
Candidates decode_pairs(const HeadRun& run, bool every);
/// The same for offsets from anchors.
Candidates decode_anchored(const HeadRun& run);
/// Selection of rows of either that may pass.
std::vector<RowScan> scan_pairs(const HeadRun& run);

inline constexpr Part pair_parts[] = {{"boxes", 2}, {"scores", 2}};
inline constexpr Part anchored_parts[] = {{"boxes", 2}, {"scores", 2}, {"anchors", 2, true}};
inline constexpr TaskKind detect_alone[] = {TaskKind::detect};

} // namespace lanner::tasks
