#pragma once
// What YOLO's heads share.

#include <optional>

#include "tasks/heads/head.h"

namespace lanner::tasks {

/// How one output [channels, cells] or [cells, channels] is read.
struct YoloShape {
  bool channels_first = false;
  std::int64_t channels = -1, places = -1; ///< -1 where open.
};

/// Channels of the kind after box and classes; none where key points are unknown. `prototypes`: number of
/// mask prototypes.
std::optional<std::int64_t> extra_channels(const Task& task, TaskKind kind, std::int64_t prototypes);

/// Whether a network of this input size has this many cells, `anchors` in each: at strides 8, 16, 32, with or
/// without 4 and 64.
bool is_grid(std::int64_t places, std::int64_t width, std::int64_t height, int anchors);

/// Which of two dims are channels: by their number where known (`channels`, else -1), by the cells of the
/// input, else the smaller one. None where that is ambiguous.
std::optional<YoloShape> yolo_shape(std::int64_t first, std::int64_t second, std::int64_t channels,
                                    std::int64_t width, std::int64_t height);

/// The output with predictions, [N, X, Y], and the one with prototypes, [N, P, h, w]. Null where there is
/// none, or several.
struct YoloOutputs {
  const Binding *boxes = nullptr, *prototypes = nullptr;
  std::int64_t coefficients() const { return prototypes ? prototypes->dims[1] : -1; }
};
YoloOutputs yolo_outputs(const Facts& facts);

/// Adds readings of the requested kind or else of those that fit the number of channels. `fixed`: channels of
/// box and objectness; without labels the rest are classes.
void propose_yolo(const Facts& facts, const HeadRow& row, const YoloOutputs& outputs, const YoloShape& shape,
                  std::int64_t fixed, Ground ground, std::vector<Reading>& readings);

/// Layout for decoding: the classes are the channels left by the extras. Throws Error{invalid_argument} where
/// none are left, or labels differ in number.
struct YoloLayout {
  YoloShape shape;
  std::int64_t classes = 0, extras = 0;
  std::int64_t pitch() const { return shape.channels_first ? 1 : shape.channels; } ///< From cell to cell.
  std::int64_t step() const { return shape.channels_first ? shape.places : 1; } ///< From channel to channel.
};
YoloLayout yolo_layout(const HeadRun& run, std::int64_t fixed);
/// Selection of rows that may pass, with scores after `fixed` channels; with or without an objectness before
/// them.
std::vector<RowScan> scan_yolo(const HeadRun& run, std::int64_t fixed, bool objectness);

} // namespace lanner::tasks
