#pragma once
// What YOLO's heads have in common.

#include <optional>

#include "tasks/heads/head.h"

namespace lanner::tasks {

/// How one output [channels, places] or [places, channels] is read.
struct YoloShape {
  bool channels_first = false;
  std::int64_t channels = -1, places = -1; ///< -1 where they are open.
};

/// Channels behind box and classes that the kind has; nothing where key points are not known. `prototypes` is
/// how many the masks are made of.
std::optional<std::int64_t> extra_channels(const Task& task, TaskKind kind, std::int64_t prototypes);

/// Whether a network of this input has so many cells, `anchors` in each: at strides 8, 16, 32, with or
/// without 4 and 64.
bool is_grid(std::int64_t places, std::int64_t width, std::int64_t height, int anchors);

/// Which of two dims are channels: by their number where it is known (`channels`, else -1), by the cells of
/// the input, else the fewer. Nothing where that does not tell.
std::optional<YoloShape> yolo_shape(std::int64_t first, std::int64_t second, std::int64_t channels,
                                    std::int64_t width, std::int64_t height);

/// The output that predictions stand in: [N, X, Y]; and that of prototypes, [N, P, h, w]. Null where there is
/// none, or several.
struct YoloOutputs {
  const Binding *boxes = nullptr, *prototypes = nullptr;
  std::int64_t coefficients() const { return prototypes ? prototypes->dims[1] : -1; }
};
YoloOutputs yolo_outputs(const Facts& facts);

/// Adds readings of one kind or, where it is not known, of those that so many channels may be. `fixed` are
/// those of box and objectness; without labels what is left is classes.
void propose_yolo(const Facts& facts, const HeadRow& row, const YoloOutputs& outputs, const YoloShape& shape,
                  std::int64_t fixed, Ground ground, std::vector<Reading>& readings);

/// As decoding has it: the number of classes is what extras leave. Throws Error{invalid_argument} where there
/// are none, or labels are not as many.
struct YoloLayout {
  YoloShape shape;
  std::int64_t classes = 0, extras = 0;
  std::int64_t pitch() const { return shape.channels_first ? 1 : shape.channels; } ///< From place to place.
  std::int64_t step() const { return shape.channels_first ? shape.places : 1; } ///< From channel to channel.
};
YoloLayout yolo_layout(const HeadRun& run, std::int64_t fixed);
/// Rows that may pass, scores behind `fixed` channels; with an objectness in front of them or without.
std::vector<RowScan> scan_yolo(const HeadRun& run, std::int64_t fixed, bool objectness);

} // namespace lanner::tasks
