// SSD and RetinaNet: offsets from anchors, every class that passes.

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

const HeadRow ssd_row{Head::ssd,
                      "offsets (boxes) [N, K, 4] and logits (scores) [N, K, C + 1], and anchors",
                      anchored_parts,
                      detect_alone,
                      BoxForm::cxcywh,
                      false,
                      Activation::softmax,
                      0,
                      1,
                      false,
                      propose_ssd,
                      decode_anchored,
                      scan_pairs};
const HeadRow retinanet_row{Head::retinanet,
                            "offsets (boxes) [N, K, 4] and logits (scores) [N, K, C], and anchors",
                            anchored_parts,
                            detect_alone,
                            BoxForm::cxcywh,
                            false,
                            Activation::sigmoid,
                            -1,
                            0,
                            false,
                            propose_retinanet,
                            decode_anchored,
                            scan_pairs};

} // namespace lanner::tasks
