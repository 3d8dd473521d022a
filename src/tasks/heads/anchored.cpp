// SSD and RetinaNet: offsets from anchors, every class that passes the threshold.

#include "tasks/cuda/rows.h"
#include "tasks/heads/pairs.h"

namespace lanner::tasks {
namespace {

void propose(const Facts& facts, const HeadRow& row, std::vector<Reading>& readings) {
  const PairOutputs outputs = pair_outputs(facts);
  if (outputs && (facts.asked(row.head) || outputs.anchored(facts)))
    add_pair(facts, outputs, row, outputs.anchored(facts) ? Ground::names : Ground::shapes, readings);
}
void propose_ssd(const Facts& facts, std::vector<Reading>& readings) {
  propose(facts, ssd_row, readings);
}
void propose_retinanet(const Facts& facts, std::vector<Reading>& readings) {
  propose(facts, retinanet_row, readings);
}

} // namespace

const HeadRow ssd_row{
    .head = Head::ssd,
    .expects = "offsets (boxes) [N, K, 4] and logits (scores) [N, K, C + 1], and anchors",
    .parts = anchored_parts,
    .kinds = detect_alone,
    .form = BoxForm::cxcywh,
    .activation = Activation::softmax,
    .background = 0,
    .first_class = 1,
    .propose = propose_ssd,
    .decode = decode_anchored,
    .scans = scan_pairs,
};
const HeadRow retinanet_row{
    .head = Head::retinanet,
    .expects = "offsets (boxes) [N, K, 4] and logits (scores) [N, K, C], and anchors",
    .parts = anchored_parts,
    .kinds = detect_alone,
    .form = BoxForm::cxcywh,
    .activation = Activation::sigmoid,
    .propose = propose_retinanet,
    .decode = decode_anchored,
    .scans = scan_pairs,
};

} // namespace lanner::tasks
