// DETR: softmax over the classes and a background class, the best class of each query.

#include "tasks/cuda/rows.h"
#include "tasks/heads/pairs.h"

namespace lanner::tasks {
namespace {

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const PairOutputs outputs = pair_outputs(facts);
  if (!outputs) return;
  if (facts.asked(Head::detr) || (!outputs.boxes_named && !outputs.anchored(facts)))
    add_pair(facts, outputs, detr_row, outputs.logits_named ? Ground::names : Ground::shapes, readings);
}

Candidates decode(const HeadRun& run) {
  return decode_pairs(run, false);
}

} // namespace

const HeadRow detr_row{
    .head = Head::detr,
    .expects = "boxes [N, Q, 4] and logits (scores) [N, Q, C + 1]",
    .parts = pair_parts,
    .kinds = detect_alone,
    .form = BoxForm::cxcywh,
    .normalised = true,
    .activation = Activation::softmax,
    .background = last_class,
    .suppresses = true,
    .propose = propose,
    .decode = decode,
    .scans = scan_pairs,
};

} // namespace lanner::tasks
