#pragma once
// What the heads of detectors have in common.

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

/// Something that a network found, before suppression.
struct Candidate {
  std::array<float, 4> box{}; ///< Edges in pixels of the network's input; obb: centre, width and height.
  float angle = 0;            ///< obb: radians, clockwise.
  float score = 0;
  std::int32_t label = 0; ///< Number among the labels.
  std::int64_t row = 0;   ///< Of what is read later: mask, key points.
};

/// What a head made of one picture's outputs: those of the threshold and more, of many the best.
class Candidates {
public:
  /// More than `most` are of no use.
  explicit Candidates(std::size_t most) : most_(most) {}
  void add(const Candidate& candidate) {
    all_.push_back(candidate);
    if (all_.size() >= 4 * most_) drop();
  }
  /// Best first; of equal ones the first.
  std::vector<Candidate> take();

  Rows extras; ///< Coefficients of masks, key points; by Candidate::row.

private:
  void drop();

  std::size_t most_;
  std::vector<Candidate> all_;
};

/// What a head reads.
struct HeadRun {
  const Task& task;                                 ///< Resolved.
  std::map<std::string, Values, std::less<>> parts; ///< By the head's names.
  std::int64_t width = 0, height = 0;               ///< Of the network's input.
  float threshold = 0;
  std::size_t most = 0; ///< Candidates that are of use.
  Device device;        ///< Where large outputs lie.

  bool has(std::string_view part) const { return parts.contains(part); }
  const Values& part(std::string_view name) const;
};

/// An output that a head reads.
struct Part {
  std::string_view name;
  std::size_t ranks;   ///< Dims behind the batch's.
  bool shared = false; ///< One for all pictures of a batch, with or without its dim.
};

inline constexpr int last_class = -2;

struct RowScan; // tasks/cuda/rows.h

/// One row of the table of heads.
struct HeadRow {
  Head head;
  std::string_view expects;    ///< `[N, 5 + C, A]`, for messages.
  std::span<const Part> parts; ///< All that it may have.
  std::span<const TaskKind> kinds;
  BoxForm form;
  bool normalised;
  Activation activation;
  int background;  ///< Number of the class that is none: -1 where there is no such class, or last_class.
  int first_class; ///< Number in the outputs of the first label.
  bool suppresses; ///< The network does, or needs none.
  /// Adds the reading that the outputs have by this head. A head that was asked for takes all that it can
  /// read; else only what no other network would have.
  void (*propose)(const Facts& facts, std::vector<Reading>& readings);
  /// Takes parts on the host, of which some may be chosen rows: [count, channels].
  Candidates (*decode)(const HeadRun& run);
  /// How rows that may pass are chosen where an output lies on a GPU; null: all of it comes to the host.
  std::vector<RowScan> (*scans)(const HeadRun& run) = nullptr;
};

const HeadRow& head_row(Head head);
std::span<const HeadRow* const> head_rows();

// One file of this folder each.
extern const HeadRow boxes_scores_row, yolo_v5_row, yolo_v5_raw_row, yolo_v8_row, yolo_v10_row, detr_row,
    rt_detr_row, ssd_row, retinanet_row, torchvision_row, tensorflow_row, efficient_nms_row, centernet_row;

/// A reading by a head, with text and ground set.
Reading reading_of(const HeadRow& row, TaskKind kind, std::int64_t classes, Ground ground,
                   std::initializer_list<std::pair<const std::string, std::string>> outputs);

/// Number in the outputs of the first label: the head's, or 0 where the labels begin with the background.
int first_class_of(const HeadRow& row, const Task& task);
/// Classes of a head that scores `channels` of them, without the background at either end.
std::int64_t named_classes(std::int64_t channels, int background, int first_class);
/// Throws Error{invalid_argument} unless labels, where there are some, are as many as the classes.
void check_class_count(const Task& task, std::int64_t classes);

} // namespace lanner::tasks
