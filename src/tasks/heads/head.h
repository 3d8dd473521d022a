#pragma once
// What the heads of detectors share.

#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/task.h>

#include "tasks/read/reading.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// A detection before suppression.
struct Candidate {
  std::array<float, 4> box{}; ///< Edges in pixels of the network's input; obb: centre, width and height.
  float angle = 0;            ///< obb: radians, clockwise.
  float score = 0;
  std::int32_t label = 0; ///< Index of its label.
  std::int64_t row = 0;   ///< Row of its extra values: mask coefficients, key points.
};

/// A head's result for one picture: candidates with at least the threshold's score, the best if there are
/// many.
class Candidates {
public:
  /// More than `most` are not needed.
  explicit Candidates(std::size_t most) : most_(most) {}
  void add(const Candidate& candidate) {
    all_.push_back(candidate);
    if (all_.size() >= 4 * most_) drop();
  }
  /// Best first, equal ones in order.
  std::vector<Candidate> take();

  Rows extras; ///< Coefficients of masks, key points; by Candidate::row.

private:
  void drop();

  std::size_t most_;
  std::vector<Candidate> all_;
};

/// Input of a head.
struct HeadRun {
  const Task& task;                                 ///< Resolved.
  std::map<std::string, Values, std::less<>> parts; ///< By the head's part names.
  std::int64_t width = 0, height = 0;               ///< Of the network's input.
  float threshold = 0;
  std::size_t most = 0; ///< The most candidates that are needed.
  Device device;        ///< Device of large outputs.

  bool has(std::string_view part) const { return parts.contains(part); }
  const Values& part(std::string_view name) const;
};

/// An output that a head reads.
struct Part {
  std::string_view name;
  std::size_t ranks;   ///< Dims after the batch's.
  bool shared = false; ///< One for all pictures of a batch, with or without a batch dim.
};

inline constexpr int last_class = -2;

struct RowScan; // tasks/cuda/rows.h

/// One row of the table of heads.
struct HeadRow {
  Head head;
  std::string_view expects;    ///< `[N, 5 + C, A]`, for messages.
  std::span<const Part> parts; ///< All parts that it may have.
  std::span<const TaskKind> kinds;
  BoxForm form;
  bool normalised = false; ///< Boxes are fractions of the network's input; false: its pixels.
  Activation activation = Activation::none;
  int background = -1;     ///< Number of the background class: -1 where there is none, or last_class.
  int first_class = 0;     ///< Class number of the first label in the outputs.
  bool suppresses = false; ///< The network suppresses, or needs no suppression.
  /// Adds the reading of the outputs by this head. A requested head accepts all outputs that it can read;
  /// otherwise it accepts only outputs that no other network would have.
  void (*propose)(const Facts& facts, std::vector<Reading>& readings);
  /// Takes parts on the host, some of which may be selected rows: [count, channels].
  Candidates (*decode)(const HeadRun& run);
  /// How rows that may pass are selected where an output is on a GPU; null: all of it is copied to the host.
  std::vector<RowScan> (*scans)(const HeadRun& run) = nullptr;
};

const HeadRow& head_row(Head head);
std::span<const HeadRow* const> head_rows();

// One file of this folder each.
extern const HeadRow boxes_scores_row, yolo_v5_row, yolo_v5_raw_row, yolo_v8_row, yolo_v10_row, detr_row,
    rt_detr_row, ssd_row, retinanet_row, torchvision_row, tensorflow_row, efficient_nms_row, centernet_row;

/// A reading by a head, with text and evidence set.
Reading reading_of(const HeadRow& row, TaskKind kind, std::int64_t classes, Ground ground,
                   std::initializer_list<std::pair<const std::string, std::string>> outputs);

/// Class number of the first label in the outputs: the head's, or 0 where the labels begin with the
/// background.
int first_class_of(const HeadRow& row, const Task& task);
/// Classes of a head with `channels` scores, without the background at either end.
std::int64_t named_classes(std::int64_t channels, int background, int first_class);
/// Throws Error{invalid_argument} where labels are given but their number is not that of the classes.
void check_class_count(const Task& task, std::int64_t classes);

} // namespace lanner::tasks
