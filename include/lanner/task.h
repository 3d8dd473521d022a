#pragma once
// The meaning of a network's outputs: from tensors to classes, boxes, masks, key points, maps and pictures.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/engine.h>
#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// The task of a network.
enum class TaskKind : std::uint8_t {
  classify, ///< Classes of a picture.
  detect,   ///< Boxes.
  segment,  ///< Boxes, each with the mask of its object.
  semantic, ///< A class for each pixel.
  depth,    ///< A distance, or its inverse, for each pixel.
  image,    ///< A picture.
  pose,     ///< Boxes, each with key points.
  obb,      ///< Rotated boxes.
  embed,    ///< A vector of features.
  none,     ///< Numbers.
};
std::string_view to_string(TaskKind kind) noexcept;
bool has_boxes(TaskKind kind) noexcept; ///< Whether results are boxes, with or without masks or points.
TaskKind parse_task_kind(std::string_view name); ///< Throws Error{invalid_argument} with the known names.

/// The output format of a detector; docs/tasks.md has the outputs and shapes of each.
enum class Head : std::uint8_t {
  boxes_scores,  ///< Boxes [N, K, 4], in `box_form`, and scores [N, K, C].
  yolo_v5,       ///< [N, A, 5 + C]: box, objectness, classes; decoded. Also v7.
  yolo_v5_raw,   ///< For each stride [N, anchors, H, W, 5 + C], before the sigmoid. Also v7.
  yolo_v8,       ///< [N, 4 + C + extra, A] or [N, A, 4 + C + extra]. Also v9, v11, v12.
  yolo_v10,      ///< [N, K, 6 + extra]: edges, score, class; already suppressed. Also v26.
  detr,          ///< Logits [N, Q, C + 1], the last class being background, and boxes [N, Q, 4].
  rt_detr,       ///< Logits [N, Q, C] and boxes [N, Q, 4], or both in [N, Q, 4 + C].
  ssd,           ///< Offsets [N, K, 4] from anchors and logits [N, K, C + 1], first class background.
  retinanet,     ///< Offsets [N, K, 4] from anchors and logits [N, K, C].
  torchvision,   ///< Boxes [K, 4], labels [K], scores [K], and masks [K, 1, H, W] or key points [K, P, 3].
  tensorflow,    ///< detection_boxes, detection_scores, detection_classes, num_detections.
  efficient_nms, ///< num_dets, det_boxes, det_scores, det_classes.
  centernet,     ///< Heat map [N, C, H, W], sizes [N, 2, H, W], offsets [N, 2, H, W].
};
std::string_view to_string(Head head) noexcept;
Head parse_head(std::string_view name); ///< Throws Error{invalid_argument} with the known names.

/// The meaning of a box's four numbers.
enum class BoxForm : std::uint8_t {
  xyxy,   ///< Edges: left, top, right, bottom.
  yxyx,   ///< Edges: top, left, bottom, right.
  xywh,   ///< Left, top, width, height.
  cxcywh, ///< Centre, width, height.
};
std::string_view to_string(BoxForm form) noexcept;
BoxForm parse_box_form(std::string_view name);

enum class Activation : std::uint8_t { none, sigmoid, softmax };
std::string_view to_string(Activation activation) noexcept;
Activation parse_activation(std::string_view name);

/// The declaration of a task: unset parts are found by resolve_task(). Stored in metadata of models and plans
/// as JSON under `lanner.task`; the JSON fields have the names of these members.
struct Task {
  std::optional<TaskKind> kind; ///< `task` in JSON.
  std::optional<Head> head;     ///< For detect, segment, pose and obb.
  /// Which output has which part, where names and shapes do not determine it: `{"boxes": "output0"}`. The
  /// parts of each head are listed in docs/tasks.md.
  std::map<std::string, std::string> outputs;
  std::vector<std::string> labels; ///< Names of classes, by number.
  std::optional<int> top;          ///< Number of classes returned for a picture; 5.

  std::optional<BoxForm> box_form;
  std::optional<bool> box_normalised;   ///< Boxes are fractions of the network's input; false: its pixels.
  std::optional<Activation> activation; ///< Converts scores to probabilities.
  std::optional<int> background;        ///< The background class; -1: there is none.
  /// Class number in the output of the first label: 0, or 1 if the output begins with a background class that
  /// the labels lack.
  std::optional<int> first_class;
  std::vector<float> anchors;    ///< yolo_v5_raw: width, height of each in pixels, by stride. ssd, retinanet:
                                 ///< four numbers each, as edges in pixels of the input.
  std::vector<float> strides;    ///< Input pixels per cell of each output, in their order.
  std::vector<float> box_scales; ///< ssd, retinanet: divisors of the offsets of x, y, width, height.
  std::optional<float> score_threshold, iou_threshold; ///< 0.25 and 0.45; a network that suppresses: none.
  std::optional<int> max_detections;                   ///< 300.
  std::optional<bool> class_agnostic;                  ///< Boxes suppress those of other classes too; false.

  std::optional<int> keypoints;             ///< Key points per box.
  std::optional<int> keypoint_values;       ///< 2: x, y; 3: with visibility.
  std::vector<std::array<int, 2>> skeleton; ///< Lines between key points; for 17: COCO's.
  std::optional<bool> channels_last;        ///< image, semantic: [N, H, W, C]; from the shape where possible.
  std::optional<bool> bgr;                  ///< image.
  /// image: values of black and white. Unset: 0 and 255 for bytes, for floats those of the input.
  std::optional<std::array<float, 2>> range;
  std::string color_map; ///< depth: `magma`, `viridis`, `turbo`, `gray`.

  std::string to_json() const; ///< One line with the fields that are set.
  /// Also accepts a bare word, which is the kind. Unknown keys and wrong types are Error{bad_data}.
  static Task from_json(std::string_view json);
  friend bool operator==(const Task&, const Task&) = default;
};

/// A resolved task and its origin.
struct ResolvedTask {
  Task task;          ///< Kind, head and the fields that they need are set.
  std::string reason; ///< `detect, head yolo_v8, 80 classes: the model's metadata (task, names)`.
};
/// Fills in the unset fields of `given` from the model's metadata (`lanner.task`, ultralytics' `task`,
/// `names`, `stride`, `kpt_shape`; labels of TFLite and Keras), then from the outputs' names and shapes where
/// these are unambiguous. Throws Error{invalid_argument} if the outputs have several interpretations, which
/// the message lists, or do not fit what was given.
ResolvedTask resolve_task(const Engine& engine, const Task& given = {});
/// The same for pictures preprocessed by `spec`, whose size is used if the size of the engine's input is
/// open.
ResolvedTask resolve_task(const Engine& engine, const Task& given, const Preprocess& spec);

/// Pixels of one object in a picture, stored for its box only.
struct Mask {
  PixelRect place; ///< The part of the picture that is stored: the object's box.
  Tensor inside;   ///< u8 [place.height, place.width]: 1 where the object is.
};

/// A network's result for one picture. Tensors are row-major on the host and owned by the result; those that
/// the kind does not have are undefined. Coordinates are pixels of the picture as edges: pixel i covers
/// [i, i + 1).
struct TaskResult {
  TaskKind kind = TaskKind::none;
  std::int32_t width = 0, height = 0; ///< Of the picture.
  Tensor labels;                      ///< i64 [K]: numbers of classes, best first. classify: [top].
  Tensor scores;                      ///< f32 [K]: probabilities.
  Tensor boxes;                       ///< f32 [K, 4]: left, top, right, bottom, clipped to the picture.
  Tensor rotated;          ///< obb: f32 [K, 5]: centre x, y, width, height, angle in radians, clockwise.
  Tensor keypoints;        ///< pose: f32 [K, P, 3]: x, y, confidence (1 where the network has none).
  std::vector<Mask> masks; ///< segment: K.
  Tensor classes;          ///< semantic: i32 [height, width]; -1 where the network did not see the picture.
  Tensor depth;            ///< depth: f32 [height, width], the network's values; NaN where it did not see it.
  Image image;             ///< image: rgb24, of any size.
  Tensor embedding;        ///< embed: f32 [D].
  /// Results of a second network, one for each box (CropRunner): empty, or K. Boxes, masks and key points of
  /// a crop are in coordinates of the whole picture, whose size is its `width` and `height`; maps and
  /// pictures cover its `region`.
  std::vector<TaskResult> crops;
  std::shared_ptr<const Task> crop_task; ///< Resolved task of `crops`. Null: no second network was run.
  /// For a crop: the region of the picture that the second network saw. All zero for other results, and for a
  /// box that covers no pixel and so has no result.
  PixelRect region;

  std::int64_t count() const noexcept; ///< K.
  /// All masks as u8 [K, height, width]. Throws Error{limit_exceeded} beyond `limits`.
  Tensor full_masks(const Limits& limits = {}) const;
};

/// Extracts one picture's result from a network's outputs. Immutable; any number of threads may call read().
class TaskReader {
public:
  /// `spec` is the preprocessing that read() inverts; unset parts of `task` are resolved. Throws
  /// Error{invalid_argument} where the outputs do not fit the task.
  TaskReader(Task task, const Engine& engine, Preprocess spec);
  /// `outputs` by name, on the host or a GPU, where they are read; the work that computes them must have
  /// ended, as after Context::run(). `element` is the picture's index in the batch. Throws
  /// Error{invalid_argument} for shapes that the head does not have, Error{bad_data} for scores and selected
  /// boxes that are not finite, Error{limit_exceeded}. Boxes outside of the picture are left out.
  TaskResult read(const std::map<std::string, Tensor>& outputs, std::int32_t width, std::int32_t height,
                  std::int64_t element = 0, const Limits& limits = {}) const;
  const Task& task() const noexcept { return task_; }
  std::string label(std::int64_t number) const; ///< `class 7` where there is no label.

private:
  Task task_;
  Preprocess spec_; ///< With the input's size; 0 where it depends on the picture.
};

/// Numbers of the boxes that remain after suppression, best first: of two of one class (`labels` undefined:
/// of any classes) that overlap by more than `iou_threshold` of their union the better one remains; of equal
/// scores the first. `boxes` f32 [K, 4] (edges, any order of corners) or [K, 5] (rotated, as
/// TaskResult::rotated), `scores` f32 [K], `labels` i64 [K]. At most `max_kept` (0: all). Boxes on a GPU are
/// compared there where scores and labels are there too; the work that computes them must have ended.
std::vector<std::int64_t> suppress_boxes(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                         float iou_threshold, std::int64_t max_kept = 0);

} // namespace lanner
