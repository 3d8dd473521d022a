// Boxes and scores decoded by the network; the best class of each box.

#include "tasks/cuda/rows.h"
#include "tasks/heads/pairs.h"

namespace lanner::tasks {
namespace {

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const PairOutputs outputs = pair_outputs(facts);
  if (!outputs) return;
  const bool likely = outputs.boxes_named || facts.wanted.box_form;
  if (!facts.asked(Head::boxes_scores) && !likely && (outputs.logits_named || outputs.anchored(facts)))
    return;
  add_pair(facts, outputs, boxes_scores_row, likely ? Ground::names : Ground::shapes, readings);
}

Candidates decode(const HeadRun& run) {
  return decode_pairs(run, false);
}

} // namespace

// The format has no default: resolve_task asks for it.
const HeadRow boxes_scores_row{
    .head = Head::boxes_scores,
    .expects = "boxes [N, K, 4] and scores [N, K, C]",
    .parts = pair_parts,
    .kinds = detect_alone,
    .form = BoxForm::xyxy,
    .propose = propose,
    .decode = decode,
    .scans = scan_pairs,
};

} // namespace lanner::tasks
