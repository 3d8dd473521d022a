#pragma once
// What a network's outputs mean: from tensors to classes, boxes, masks, key points, maps and pictures.

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

/// What a network is for.
enum class TaskKind : std::uint8_t {
  classify, ///< Classes of a picture.
  detect,   ///< Boxes.
  segment,  ///< Boxes, each with the mask of its object.
  semantic, ///< A class for each pixel.
  depth,    ///< A distance, or its inverse, for each pixel.
  image,    ///< A picture.
  pose,     ///< Boxes, each with key points.
  obb,      ///< Boxes that are turned.
  embed,    ///< A vector of features.
  none,     ///< Numbers.
};
std::string_view to_string(TaskKind kind) noexcept;
bool has_boxes(TaskKind kind) noexcept; ///< Whether results are boxes, with or without masks or points.
TaskKind parse_task_kind(std::string_view name); ///< Throws Error{invalid_argument} with the known names.

/// How a detector writes its boxes; docs/tasks.md has the outputs and shapes of each.
enum class Head : std::uint8_t {
  boxes_scores,  ///< Boxes [N, K, 4] and scores [N, K, C], boxes as `box_form` says.
  yolo_v5,       ///< [N, A, 5 + C]: box, objectness, classes; decoded. Also v7.
  yolo_v5_raw,   ///< For each stride [N, anchors, H, W, 5 + C], before the sigmoid. Also v7.
  yolo_v8,       ///< [N, 4 + C + extra, A] or [N, A, 4 + C + extra]. Also v9, v11, v12.
  yolo_v10,      ///< [N, K, 6 + extra]: edges, score, class; suppressed already. Also v26.
  detr,          ///< Logits [N, Q, C + 1], the last class being none, and boxes [N, Q, 4].
  rt_detr,       ///< Logits [N, Q, C] and boxes [N, Q, 4], or both in [N, Q, 4 + C].
  ssd,           ///< Offsets [N, K, 4] from anchors and logits [N, K, C + 1], the first class being none.
  retinanet,     ///< Offsets [N, K, 4] from anchors and logits [N, K, C].
  torchvision,   ///< Boxes [K, 4], labels [K], scores [K], and masks [K, 1, H, W] or key points [K, P, 3].
  tensorflow,    ///< detection_boxes, detection_scores, detection_classes, num_detections.
  efficient_nms, ///< num_dets, det_boxes, det_scores, det_classes.
  centernet,     ///< Heat map [N, C, H, W], sizes [N, 2, H, W], offsets [N, 2, H, W].
};
std::string_view to_string(Head head) noexcept;
Head parse_head(std::string_view name); ///< Throws Error{invalid_argument} with the known names.

/// What a box's four numbers are.
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

/// A task as it is declared: what is unset is found by resolve_task(). Metadata of models and plans keep it
/// as JSON under `lanner.task`; the fields have the names that they have here.
struct Task {
  std::optional<TaskKind> kind; ///< `task` in JSON.
  std::optional<Head> head;     ///< Of detect, segment, pose and obb.
  /// Which output has which part, where names and shapes do not tell: `{"boxes": "output0"}`. The parts of
  /// each head stand in docs/tasks.md.
  std::map<std::string, std::string> outputs;
  std::vector<std::string> labels; ///< Names of classes, by number.
  std::optional<int> top;          ///< Classes that are told of a picture; 5.

  std::optional<BoxForm> box_form;
  std::optional<bool> box_normalised;   ///< Shares of the network's input; false: its pixels.
  std::optional<Activation> activation; ///< What makes probabilities of scores.
  std::optional<int> background;        ///< The class that is none; -1: there is no such class.
  /// Number in an output of the first of `labels`: 0, or 1 beside none; 0 where labels begin with
  /// `__background__`.
  std::optional<int> first_class;
  std::vector<float> anchors;    ///< yolo_v5_raw: width, height of each in pixels, by stride. ssd, retinanet:
                                 ///< four numbers each, as edges in pixels of the input.
  std::vector<float> strides;    ///< Pixels of the input for a cell of each output, in their order.
  std::vector<float> box_scales; ///< ssd, retinanet: what offsets of x, y, width, height are divided by.
  std::optional<float> score_threshold, iou_threshold; ///< 0.25 and 0.45; a network that suppresses: none.
  std::optional<int> max_detections;                   ///< 300.
  std::optional<bool> class_agnostic;                  ///< Boxes of other classes suppress too; false.

  std::optional<int> keypoints;             ///< Key points of a box.
  std::optional<int> keypoint_values;       ///< 2: x, y; 3: with visibility.
  std::vector<std::array<int, 2>> skeleton; ///< Lines between key points; of 17: COCO's.
  std::optional<bool> channels_last; ///< image, semantic: [N, H, W, C]; told by the shape where it can be.
  std::optional<bool> bgr;           ///< image.
  /// image: values of black and white. Unset: 0 and 255 of bytes, of floats what they are in the input.
  std::optional<std::array<float, 2>> range;
  std::string color_map; ///< depth: `magma`, `viridis`, `turbo`, `gray`.

  std::string to_json() const; ///< One line with the fields that are set.
  /// Also takes a bare word, which is the kind. Unknown keys and wrong types are Error{bad_data}.
  static Task from_json(std::string_view json);
  friend bool operator==(const Task&, const Task&) = default;
};

/// Where a resolved task comes from, in words.
struct ResolvedTask {
  Task task;          ///< Kind, head and what they need are set.
  std::string reason; ///< `detect, head yolo_v8, 80 classes: the model's metadata (task, names)`.
};
/// Completes `given` by the model's metadata (`lanner.task`, ultralytics' `task`, `names`, `stride`,
/// `kpt_shape`; labels of TFLite and Keras), then by the outputs' names and shapes where they have but one
/// reading. Throws Error{invalid_argument} where they have several, naming them, and where the outputs do not
/// fit what was given.
ResolvedTask resolve_task(const Engine& engine, const Task& given = {});
/// The same where pictures enter by `spec`, whose size counts where the engine leaves that of its input open.
ResolvedTask resolve_task(const Engine& engine, const Task& given, const Preprocess& spec);

/// Pixels of one object in a picture, kept where its box is.
struct Mask {
  PixelRect place; ///< Of the picture.
  Tensor inside;   ///< u8 [place.height, place.width]: 1 inside.
};

/// What a network said of one picture. Tensors are row-major on the host and the result's own; those that the
/// kind does not have are undefined. Coordinates are pixels of the picture as edges: pixel i covers [i, i +
/// 1).
struct TaskResult {
  TaskKind kind = TaskKind::none;
  std::int32_t width = 0, height = 0; ///< Of the picture.
  Tensor labels;                      ///< i64 [K]: numbers of classes, best first. classify: [top].
  Tensor scores;                      ///< f32 [K]: probabilities.
  Tensor boxes;                       ///< f32 [K, 4]: left, top, right, bottom, cut at the picture's edges.
  Tensor rotated;          ///< obb: f32 [K, 5]: centre x, y, width, height, angle in radians, clockwise.
  Tensor keypoints;        ///< pose: f32 [K, P, 3]: x, y, confidence (1 where the network has none).
  std::vector<Mask> masks; ///< segment: K.
  Tensor classes;          ///< semantic: i32 [height, width]; -1 where the network did not see the picture.
  Tensor depth;     ///< depth: f32 [height, width], as the network says it; NaN where it did not see it.
  Image image;      ///< image: rgb24 of a size of its own.
  Tensor embedding; ///< embed: f32 [D].
  /// What a second network said of each box (CropRunner): empty, or K. Boxes, masks and key points of a crop
  /// lie in the whole picture, whose size is its `width` and `height`; maps and pictures are of its `region`.
  std::vector<TaskResult> crops;
  std::shared_ptr<const Task> crop_task; ///< Resolved: what `crops` mean. Null: no second network was run.
  /// Of a crop: the part of the picture that the second network saw. All zero elsewhere, and of a box that
  /// covers no pixel, of which nothing was said.
  PixelRect region;

  std::int64_t count() const noexcept; ///< K.
  /// All masks as u8 [K, height, width]. Throws Error{limit_exceeded} beyond `limits`.
  Tensor full_masks(const Limits& limits = {}) const;
};

/// Reads one picture's answers out of a network's outputs. Immutable; any number of threads may call read().
class TaskReader {
public:
  /// `spec` says how pictures become the network's input, so what undoes it; what `task` leaves open is
  /// resolved. Throws Error{invalid_argument} where the outputs do not fit the task.
  TaskReader(Task task, const Engine& engine, Preprocess spec);
  /// `outputs` by name, on the host or a GPU, where they are read; what makes them has ended, as it has after
  /// Context::run(). `element` is the picture's place in the batch. Throws
  /// Error{invalid_argument} for shapes that the head does not have, Error{bad_data} for scores and for kept
  /// boxes that are not finite, Error{limit_exceeded}. Boxes outside of the picture are left out.
  TaskResult read(const std::map<std::string, Tensor>& outputs, std::int32_t width, std::int32_t height,
                  std::int64_t element = 0, const Limits& limits = {}) const;
  const Task& task() const noexcept { return task_; }
  std::string label(std::int64_t number) const; ///< `class 7` where there is no label.

private:
  Task task_;
  Preprocess spec_; ///< With the input's size; 0 where it follows the picture.
};

/// Numbers of the boxes that suppression keeps, best first: of two of one class (`labels` undefined, or any
/// class) that overlap by more than `iou_threshold` of their union the better stays; of equal scores the
/// first. `boxes` f32 [K, 4] (edges, any order of corners) or [K, 5] (turned, as TaskResult::rotated),
/// `scores` f32 [K], `labels` i64 [K]. At most `max_kept` (0: all). Boxes on a GPU are
/// compared there where scores and labels lie there too; what makes them has ended.
std::vector<std::int64_t> suppress_boxes(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                         float iou_threshold, std::int64_t max_kept = 0);

} // namespace lanner
