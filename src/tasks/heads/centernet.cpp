// CenterNet: peaks of a heat map are centres.

#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/pairs.h"
#include "tasks/heads/scores.h"

namespace lanner::tasks {
namespace {

constexpr Part parts[] = {{"heatmap", 3}, {"sizes", 3}, {"offsets", 3}};

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const auto none = [](const Binding&) { return false; };
  const Binding* heat = facts.find("heatmap", {"hm", "heatmap", "heat_map"}, none);
  const Binding* sizes = facts.find("sizes", {"wh", "sizes", "size"}, none);
  const Binding* offsets = facts.find("offsets", {"reg", "offsets", "offset"}, none);
  if (!heat || !sizes || !offsets) return;
  for (const Binding* output : {heat, sizes, offsets})
    if (!has_rank(*output, 4)) return;
  if (!may_be(sizes->dims[1], 2) || !may_be(offsets->dims[1], 2)) return;
  readings.push_back(
      reading_of(centernet_row, TaskKind::detect, heat->dims[1], Ground::names,
                 {{"heatmap", heat->name}, {"sizes", sizes->name}, {"offsets", offsets->name}}));
}

/// A cell is a peak: no neighbour is higher.
bool is_peak(const float* map, std::int64_t width, std::int64_t height, std::int64_t x, std::int64_t y) {
  const float value = map[y * width + x];
  for (std::int64_t dy = -1; dy <= 1; ++dy)
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      const std::int64_t row = y + dy, column = x + dx;
      if (row >= 0 && row < height && column >= 0 && column < width && map[row * width + column] > value)
        return false;
    }
  return true;
}

/// Calls emit(label, cell, place, value) for the peaks; `place` is the cell's index among the stored cells.
template<typename Emit>
void for_each_peak(const Values& heat, float least, Emit&& emit) {
  const std::int64_t height = heat.whole()[1], width = heat.whole()[2], cells = width * height;
  if (heat.chosen()) {
    for (std::int64_t place = 0; place < heat.size(); ++place) {
      const std::int64_t number = heat.number(place);
      if (!std::isfinite(heat[place])) fail_not_finite(number % cells);
      emit(number / cells, number % cells, place, heat[place]);
    }
    return;
  }
  std::vector<float> buffer(static_cast<std::size_t>(cells));
  for (std::int64_t label = 0; label < heat.dim(0); ++label) {
    const float* map = heat.run(label * cells, cells, buffer.data());
    for (std::int64_t i = 0; i < cells; ++i) {
      if (!std::isfinite(map[i])) fail_not_finite(i);
      if (!(map[i] < least) && is_peak(map, width, height, i % width, i / width)) emit(label, i, i, map[i]);
    }
  }
}

Candidates decode(const HeadRun& run) {
  const Values &heat = run.part("heatmap"), &sizes = run.part("sizes"), &offsets = run.part("offsets");
  const Shape& whole = heat.whole();
  const std::int64_t classes = whole[0], height = whole[1], width = whole[2], cells = width * height;
  const Shape pairs{2, height, width};
  check(sizes.whole() == pairs && offsets.whole() == pairs && cells > 0, ErrorCode::invalid_argument,
        "head centernet: the heat map is {}, sizes {} and offsets {}, expected [C, H, W] and twice [2, H, W]",
        whole.to_string(), sizes.whole().to_string(), offsets.whole().to_string());
  check_class_count(run.task, classes);
  const ScoreScale scale(*run.task.activation, run.threshold);
  const bool given = !run.task.strides.empty();
  const float across =
      given ? run.task.strides[0] : static_cast<float>(run.width) / static_cast<float>(width);
  const float down =
      given ? run.task.strides[0] : static_cast<float>(run.height) / static_cast<float>(height);
  Candidates found(run.most);
  for_each_peak(heat, scale.least(), [&](std::int64_t label, std::int64_t i, std::int64_t place, float raw) {
    const float score = scale(raw);
    if (!scale.passes(score)) return;
    const auto at = [&](const Values& values, std::int64_t axis) {
      return values.chosen() ? values[place * 2 + axis] : values[axis * cells + i];
    };
    const float x = static_cast<float>(i % width) + at(offsets, 0),
                y = static_cast<float>(i / width) + at(offsets, 1);
    const float half_width = at(sizes, 0) / 2, half_height = at(sizes, 1) / 2;
    const std::array<float, 4> box{(x - half_width) * across, (y - half_height) * down,
                                   (x + half_width) * across, (y + half_height) * down};
    check_box(box, i);
    found.add({box, 0, score, static_cast<std::int32_t>(label), i});
  });
  return found;
}

std::vector<RowScan> scans(const HeadRun& run) {
  const Values& heat = run.part("heatmap");
  const std::int64_t height = heat.dim(1), width = heat.dim(2), cells = width * height;
  if (width > INT32_MAX || height > INT32_MAX || cells <= 0) return {};
  RowScan scan{
      "heatmap",
      scan_of(*run.task.activation, run.threshold, heat.size(), 1),
      {{"heatmap", 0, 1, 1, 1}, {"sizes", 0, 1, cells, 2, cells}, {"offsets", 0, 1, cells, 2, cells}}};
  scan.scores.pitch = 1;
  scan.scores.peak_width = static_cast<std::int32_t>(width);
  scan.scores.peak_height = static_cast<std::int32_t>(height);
  return {scan};
}

} // namespace

const HeadRow centernet_row{
    .head = Head::centernet,
    .expects = "heatmap [N, C, H, W], sizes [N, 2, H, W] and offsets [N, 2, H, W]",
    .parts = parts,
    .kinds = detect_alone,
    .form = BoxForm::cxcywh,
    .activation = Activation::sigmoid,
    .suppresses = true,
    .propose = propose,
    .decode = decode,
    .scans = scans,
};

} // namespace lanner::tasks
