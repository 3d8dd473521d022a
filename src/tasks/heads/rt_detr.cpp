// RT-DETR and others with an independent score for each class of a query: two outputs, or both in one.

#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/pairs.h"
#include "tasks/heads/scores.h"
#include "tasks/heads/yolo.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t fixed = 4, most_queries = 1000;

/// [N, Q, 4 + C] with probabilities as scores.
void propose_joined(const Facts& facts, std::vector<Reading>& readings) {
  const Binding* joined = facts.find("boxes", {}, [](const Binding& output) { return has_rank(output, 3); });
  if (!joined || !has_rank(*joined, 3)) return;
  const std::int64_t queries = joined->dims[1], channels = joined->dims[2];
  const std::int64_t classes = channels < 0 ? -1 : channels - fixed;
  if (classes == 0 || classes < -1) return;
  if (facts.labels() > 0 && classes > 0 && classes != facts.labels()) return;
  if (!facts.asked(Head::rt_detr)) {
    const bool few = queries <= most_queries && !is_grid(queries, facts.width, facts.height, 1);
    if (facts.end_to_end || facts.labels() == 0 || classes < 0 || !few) return;
    if (facts.wanted.kind.value_or(TaskKind::detect) != TaskKind::detect) return;
  }
  Reading reading =
      reading_of(rt_detr_row, TaskKind::detect, classes, Ground::shapes, {{"boxes", joined->name}});
  if (!facts.wanted.activation) reading.task.activation = Activation::none;
  readings.push_back(std::move(reading));
}

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const PairOutputs outputs = pair_outputs(facts);
  if (!outputs) return propose_joined(facts, readings);
  if (facts.asked(Head::rt_detr) || (!outputs.boxes_named && !outputs.anchored(facts)))
    add_pair(facts, outputs, rt_detr_row, outputs.logits_named ? Ground::names : Ground::shapes, readings);
}

Candidates decode(const HeadRun& run) {
  if (run.has("scores")) return decode_pairs(run, true);
  const Values& values = run.part("boxes");
  const std::int64_t pitch = values.dim(1), classes = pitch - fixed;
  check(classes > 0, ErrorCode::invalid_argument, "head rt_detr: the output is {}, expected [Q, 4 + C]",
        values.shape().to_string());
  const BoxReader box(run, values, 0, pitch);
  Candidates found(run.most);
  for_each_class({values, fixed, pitch, values.dim(0), classes}, score_rule(run, classes, true),
                 [&](std::int64_t row, std::int32_t label, float score) {
                   found.add({box(row), 0, score, label, row});
                 });
  return found;
}

std::vector<RowScan> scans(const HeadRun& run) {
  if (run.has("scores")) return scan_pairs(run);
  const Values& values = run.part("boxes");
  const std::int64_t rows = values.dim(0), pitch = values.dim(1), classes = pitch - fixed;
  RowScan scan{
      "boxes", scan_of(*run.task.activation, run.threshold, rows, classes), {{"boxes", 0, pitch, 1, pitch}}};
  scan.scores.begin = fixed;
  scan.scores.pitch = pitch;
  scan.scores.step = 1;
  return {scan};
}

} // namespace

const HeadRow rt_detr_row{
    .head = Head::rt_detr,
    .expects = "boxes [N, Q, 4] and logits (scores) [N, Q, C], or one output [N, Q, 4 + C]",
    .parts = pair_parts,
    .kinds = detect_alone,
    .form = BoxForm::cxcywh,
    .normalised = true,
    .activation = Activation::sigmoid,
    .suppresses = true,
    .propose = propose,
    .decode = decode,
    .scans = scans,
};

} // namespace lanner::tasks
