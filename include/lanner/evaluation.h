#pragma once
// How right a network's answers are on pictures whose truth is known.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/limits.h>
#include <lanner/task.h>

namespace lanner {

/// An object that is in a picture. Numbers of classes are those of TaskResult::labels; coordinates are pixels
/// of the picture.
struct GroundTruthObject {
  std::int64_t label = 0;
  std::array<double, 4> box{}; ///< Left, top, width, height.
  double area = 0;             ///< What decides whether it is small, medium or large, as COCO's files say it.
  bool crowd = false; ///< Many objects that are not told apart: found or not, neither right nor wrong.
  std::optional<std::array<float, 5>> rotated; ///< obb: as TaskResult::rotated.
  /// segment: how many pixels of the picture lie outside, then inside, then outside of the object and so on,
  /// down its columns from the left to the right.
  std::vector<std::uint32_t> mask;
  std::vector<std::array<double, 3>> keypoints; ///< pose: x, y, visibility; 0 is not labelled.
};

/// What is known of one picture.
struct GroundTruth {
  std::int64_t label = -1; ///< classify.
  std::vector<GroundTruthObject> objects;
  Tensor classes; ///< semantic: i32 [height, width]; -1: does not count.
};

/// The truth as a network that is right in everything would say it, for drawing.
TaskResult result_of_ground_truth(const GroundTruth& truth, TaskKind kind, std::int32_t width,
                                  std::int32_t height);

/// One number with a name that programs read and a title for people. NaN where there was nothing to measure.
struct Metric {
  std::string name, title;
  double value = 0;
};

struct ClassEvaluation {
  std::int64_t number = 0;
  std::string label;
  std::int64_t count = 0;      ///< In the truth: pictures, objects or pixels.
  std::vector<Metric> metrics; ///< The same names for each class.
  std::string remark;          ///< classify: what it is taken for most.
};

/// A picture whose answer is far from the truth.
struct WorstImage {
  std::size_t picture = 0; ///< Its number among those that were added, of evaluate() in the data set.
  std::string source, caption;
  double score = 0; ///< classify: probability of the wrong answer; boxes: F1; semantic: mean IoU.
  std::int32_t width = 0, height = 0;
  TaskResult answer; ///< By evaluate(): of boxes those from Evaluation::threshold on.
  GroundTruth truth;
};

/// docs/eval.md says how each number is made.
struct Evaluation {
  TaskKind kind = TaskKind::none;
  std::int64_t images = 0;   ///< That were measured.
  std::int64_t failed = 0;   ///< That could not be.
  std::vector<Metric> metrics;
  std::vector<ClassEvaluation> classes; ///< Those that are in the truth, by number.
  std::vector<WorstImage> worst;      ///< The worst first.
  std::vector<std::string> notes;       ///< What was taken as what.
  double threshold = 0;                 ///< Boxes: the score at which precision and recall are told.
  double seconds = 0;

  /// Throws Error{not_found} with the names that there are.
  double metric(std::string_view name) const;
  /// One object: `task`, `pictures`, `failed`, `seconds`, `metrics` by name, `classes`, `worst`, `notes`.
  std::string to_json() const;
};

/// Whether answers of this kind can be measured: classify, detect, segment, pose, obb, semantic.
bool can_evaluate(TaskKind kind) noexcept;

/// Adds up pictures one by one. One thread at a time.
class Evaluator {
public:
  /// `task` is resolved. Throws Error{invalid_argument} for a kind that cannot be measured. So many pictures
  /// are kept as the worst.
  explicit Evaluator(Task task, std::size_t worst = 12);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  /// `source` is what the picture is called. Throws Error{invalid_argument} where result and truth do not fit
  /// the task or each other.
  void add(const std::string& source, const TaskResult& result, const GroundTruth& truth);
  /// Of all so far.
  Evaluation finish() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

struct DatasetOptions {
  std::filesystem::path images; ///< Where the pictures are, where that does not follow from the data.
  std::optional<int> ignore;    ///< semantic: pixels of this number do not count; 255.
  std::int64_t classes = 0;     ///< That the network knows; 0: as many as the task has labels.
  Limits limits;
};

/// Pictures and what is known of them. Immutable; any number of threads may share one.
class Dataset {
public:
  /// A folder for each class; COCO's JSON file; YOLO's folders `images` and `labels`, or their data.yaml;
  /// `images` and `masks` whose values are classes. What is looked for follows from the task. Throws
  /// Error{not_found, bad_data, invalid_argument, limit_exceeded}.
  static Dataset open(const std::filesystem::path& data, const Task& task,
                      const DatasetOptions& options = {});

  std::size_t size() const noexcept;
  const std::string& picture(std::size_t i) const; ///< Its path.
  std::vector<std::string> files() const;          ///< All that is read: pictures, and what says their truth.
  /// For the picture of this size as it was read. Throws Error{not_found, bad_data, limit_exceeded}.
  GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const;
  /// The task with the data's names of classes where it has none itself.
  Task named(Task task) const;
  /// What it is, how classes were matched, what was left out: a line each.
  const std::vector<std::string>& notes() const noexcept;

  struct Form; ///< One way to keep a data set.

private:
  explicit Dataset(std::shared_ptr<const Form> form) : form_(std::move(form)) {}
  std::shared_ptr<const Form> form_;
};

/// How many classes a network knows: those with labels, else as many as its output has; 0 where that is not
/// known.
std::int64_t class_count(const Engine& engine, const Task& resolved);

/// The task as it is measured: of boxes, what was not `given` is set so that precision can be told at every
/// recall, score_threshold to 0.001 and max_detections to 100 at least; of classes five are told. `note` says
/// it in a line, empty where nothing was to say.
Task evaluation_task(const Task& resolved, const Task& given, std::string& note);

struct EvaluateOptions {
  std::string input;                    ///< The engine's image input; empty when it has but one.
  std::optional<Preprocess> preprocess; ///< Unset: what the engine says.
  int batch = 1;                        ///< Pictures in one run; the last one repeats its last picture.
  std::size_t worst = 12;
  int threads = 2; ///< That read pictures ahead.
  Limits limits;
  Control control;
  /// Told of each picture that could not be read or whose truth is damaged; it is left out and counted. Null:
  /// the first one is thrown.
  std::function<void(const Error&)> on_failed;
};

/// Runs all pictures of a data set. `task` as of evaluation_task(). Owns threads for as long as it runs.
Evaluation evaluate(const Engine& engine, const Task& task, const Dataset& data,
                    const EvaluateOptions& options = {});

} // namespace lanner
