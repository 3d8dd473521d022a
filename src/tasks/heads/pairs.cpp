#include "tasks/heads/pairs.h"

#include <algorithm>

#include "base/check.h"
#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"

namespace lanner::tasks {
namespace {

/// Scores with as many rows as boxes.
ScoreRows score_rows(const HeadRun& run) {
  const Values &boxes = run.part("boxes"), &scores = run.part("scores");
  check(boxes.dim(1) == 4 && boxes.dim(0) == scores.dim(0), ErrorCode::invalid_argument,
        "head {}: boxes are {} and scores {}, expected [K, 4] and [K, classes]", to_string(*run.task.head),
        boxes.shape().to_string(), scores.shape().to_string());
  return {scores, 0, scores.dim(1), scores.dim(0), scores.dim(1)};
}

} // namespace

PairOutputs pair_outputs(const Facts& facts) {
  PairOutputs found;
  const auto scores_fit = [&](const Binding& output) {
    return has_rank(output, 3) && &output != found.boxes && &output != found.anchors;
  };
  found.anchors = facts.given("anchors");
  if (!found.anchors) found.anchors = facts.named({"anchors", "priors"});
  found.boxes =
      facts.find("boxes", {"boxes", "pred_boxes", "dets", "bbox_regression", "regression"},
                 [&](const Binding& output) { return is_boxes(output) && &output != found.anchors; });
  found.scores = facts.find(
      "scores", {"scores", "pred_logits", "logits", "confs", "cls_logits", "classification"}, scores_fit);
  if (found.boxes && (found.boxes == found.scores || !is_boxes(*found.boxes))) found.boxes = nullptr;
  if (found.scores && !has_rank(*found.scores, 3)) found.scores = nullptr;
  if (!found) return found;
  const std::int64_t rows = found.boxes->dims[1];
  if (rows >= 0 && !may_be(found.scores->dims[1], rows)) found.scores = nullptr;
  if (!found) return found;
  found.boxes_named =
      found.boxes == facts.named({"boxes"}) && found.scores == facts.named({"scores", "confs"});
  found.logits_named = found.scores == facts.named({"logits", "pred_logits"});
  return found;
}

void add_pair(const Facts& facts, const PairOutputs& outputs, const HeadRow& row, Ground ground,
              std::vector<Reading>& readings) {
  const std::int64_t channels = outputs.scores->dims[2];
  const int background = facts.wanted.background.value_or(row.background),
            first_class = first_class_of(row, facts.wanted);
  const std::int64_t classes = channels < 0 ? -1 : named_classes(channels, background, first_class);
  if (classes == 0 ||
      (classes > 0 && facts.labels() > 0 && classes != facts.labels() && !facts.asked(row.head)))
    return;
  Reading reading = reading_of(row, TaskKind::detect, classes, ground,
                               {{"boxes", outputs.boxes->name}, {"scores", outputs.scores->name}});
  if (row.background == last_class && channels > 0 && !facts.wanted.background)
    reading.task.background = static_cast<int>(channels) - 1;
  if (outputs.anchors && facts.wanted.anchors.empty())
    reading.task.outputs["anchors"] = outputs.anchors->name;
  readings.push_back(std::move(reading));
}

std::vector<RowScan> scan_pairs(const HeadRun& run) {
  const ScoreRows rows = score_rows(run);
  const ScoreRule rule = score_rule(run, rows.classes, true);
  RowScan scan{"scores",
               scan_of(rule.activation, rule.threshold, rows.rows, rows.classes, rule.background),
               {{"boxes", 0, 4, 1, 4}, {"scores", 0, rows.pitch, 1, rows.classes}}};
  scan.scores.pitch = rows.pitch;
  scan.scores.step = 1;
  if (run.has("anchors") && run.part("anchors").size() == rows.rows * 4)
    scan.tables.push_back({"anchors", 0, 4, 1, 4});
  return {scan};
}

Candidates decode_pairs(const HeadRun& run, bool every) {
  const ScoreRows rows = score_rows(run);
  const BoxReader box(run, run.part("boxes"), 0, 4);
  Candidates found(run.most);
  for_each_class(rows, score_rule(run, rows.classes, every),
                 [&](std::int64_t row, std::int32_t label, float score) {
                   found.add({box(row), 0, score, label, row});
                 });
  return found;
}

Candidates decode_anchored(const HeadRun& run) {
  const ScoreRows rows = score_rows(run);
  const AnchorReader box(run, rows.rows);
  Candidates found(run.most);
  for_each_class(rows, score_rule(run, rows.classes, true),
                 [&](std::int64_t row, std::int32_t label, float score) {
                   found.add({box(row), 0, score, label, row});
                 });
  return found;
}

} // namespace lanner::tasks
