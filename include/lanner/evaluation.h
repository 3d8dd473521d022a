#pragma once
// Accuracy of a network's results on pictures with known ground truth.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/task.h>

namespace lanner {

/// An object in a picture's ground truth. Class numbers are those of TaskResult::labels; coordinates are
/// pixels of the picture.
struct GroundTruthObject {
  std::int64_t label = 0;
  std::array<double, 4> box{}; ///< Left, top, width, height.
  double area = 0;             ///< Decides whether it is small, medium or large, as in COCO's files.
  bool crowd = false;          ///< A group of objects: detections of it count as neither right nor wrong.
  std::optional<std::array<float, 5>> rotated; ///< obb: as TaskResult::rotated.
  /// segment: run lengths of pixels outside, then inside, then outside of the object and so on, in
  /// column-major order.
  std::vector<std::uint32_t> mask;
  std::vector<std::array<double, 3>> keypoints; ///< pose: x, y, visibility; 0 is not labelled.
};

/// Ground truth of one picture.
struct GroundTruth {
  std::int64_t label = -1; ///< classify.
  std::vector<GroundTruthObject> objects;
  Tensor classes; ///< semantic: i32 [height, width]; -1: ignored.
};

/// The ground truth as the result of a perfect network, for drawing.
TaskResult result_of_ground_truth(const GroundTruth& truth, TaskKind kind, std::int32_t width,
                                  std::int32_t height);

/// One number with a name for programs and a title for people. NaN where there was nothing to measure.
struct Metric {
  std::string name, title;
  double value = 0;
};

struct ClassEvaluation {
  std::int64_t number = 0;
  std::string label;
  std::int64_t count = 0;      ///< In the ground truth: pictures, objects or pixels.
  std::vector<Metric> metrics; ///< The same names for each class.
  std::string remark;          ///< classify: the class it is confused with most.
};

/// A picture whose result is far from the ground truth.
struct WorstImage {
  std::size_t picture = 0; ///< Its number among the added pictures; from evaluate(), in the data set.
  std::string source, caption;
  double score = 0; ///< classify: probability of the wrong answer; boxes: F1; semantic: mean IoU.
  std::int32_t width = 0, height = 0;
  TaskResult answer; ///< From evaluate(): boxes with a score of at least Evaluation::threshold.
  GroundTruth truth;
};

/// Results of an evaluation; docs/eval.md defines each number.
struct Evaluation {
  TaskKind kind = TaskKind::none;
  std::int64_t images = 0; ///< Pictures measured.
  std::int64_t failed = 0; ///< Pictures that failed.
  std::vector<Metric> metrics;
  std::vector<ClassEvaluation> classes; ///< Classes in the ground truth, by number.
  std::vector<WorstImage> worst;        ///< Worst first.
  std::vector<std::string> notes;       ///< How the data was interpreted.
  double threshold = 0;                 ///< Boxes: the score at which precision and recall are reported.
  double seconds = 0;

  /// Throws Error{not_found} that lists the names.
  double metric(std::string_view name) const;
  /// One object: `task`, `pictures`, `failed`, `seconds`, `metrics` by name, `classes`, `worst`, `notes`.
  std::string to_json() const;
};

/// Whether results of this kind can be measured: classify, detect, segment, pose, obb, semantic.
bool can_evaluate(TaskKind kind) noexcept;

/// Accumulates metrics over pictures. One thread at a time.
class Evaluator {
public:
  /// `task` is resolved. Throws Error{invalid_argument} for a kind that cannot be measured. `worst`: how many
  /// of the worst pictures to keep.
  explicit Evaluator(Task task, std::size_t worst = 12);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  /// `source` is the picture's name. Throws Error{invalid_argument} where result and ground truth do not fit
  /// the task or each other.
  void add(const std::string& source, const TaskResult& result, const GroundTruth& truth);
  /// Metrics of all pictures so far.
  Evaluation finish() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

struct DatasetOptions {
  std::filesystem::path images; ///< Folder of the pictures, where it does not follow from the data.
  std::optional<int> ignore;    ///< semantic: the class number to ignore; 255.
  std::int64_t classes = 0;     ///< Classes of the network; 0: as many as the task has labels.
  Limits limits;
};

/// Encoded pictures of classes that are not files of their own, such as records of a file.
struct ClassPictures {
  std::vector<std::string> names; ///< Of each picture, for messages and reports.
  std::vector<std::int64_t> classes;
  /// The bytes of picture i, as a JPEG or PNG file has them. Any number of threads may call it.
  std::function<Content(std::size_t i)> read;
  std::vector<std::string> files;  ///< All files that `read` reads.
  std::vector<std::string> labels; ///< Of the classes, where the network has none.
  std::vector<std::string> notes;
};

/// Pictures with ground truth. Immutable; any number of threads may share one.
class Dataset {
public:
  /// A folder for each class; COCO's JSON file; YOLO's folders `images` and `labels`, or their data.yaml;
  /// `images` and `masks` whose values are classes. The expected form follows from the task. Throws
  /// Error{not_found, bad_data, invalid_argument, limit_exceeded}.
  static Dataset open(const std::filesystem::path& data, const Task& task,
                      const DatasetOptions& options = {});

  /// Throws Error{invalid_argument} for no pictures, or not a class for each.
  static Dataset of(ClassPictures pictures);

  std::size_t size() const noexcept;
  const std::string& picture(std::size_t i) const; ///< Its path, or its name.
  /// The decoded picture. Throws Error{not_found, io, bad_data, limit_exceeded, unsupported}.
  Image image(std::size_t i, const Limits& limits = {}) const;
  std::vector<std::string> files() const; ///< All files that are read: pictures and ground truth.
  /// For the picture with its decoded size. Throws Error{not_found, bad_data, limit_exceeded}.
  GroundTruth truth(std::size_t i, std::int32_t width, std::int32_t height) const;
  /// The task with the data's class names where it has none itself.
  Task named(Task task) const;
  /// Its form, how classes were matched, what was skipped: a line each.
  const std::vector<std::string>& notes() const noexcept;

  struct Form; ///< One file format of data sets.

private:
  explicit Dataset(std::shared_ptr<const Form> form) : form_(std::move(form)) {}
  std::shared_ptr<const Form> form_;
};

/// The number of classes of a network: those with labels, else as many as its output has; 0 where that is
/// unknown.
std::int64_t class_count(const Engine& engine, const Task& resolved);

/// The task adjusted for measuring: for boxes, unless set in `given`, score_threshold is 0.001 and
/// max_detections at least 100, so that precision is known at every recall; for classes the top five are
/// returned. `note` says so in a line, empty where nothing was changed.
Task evaluation_task(const Task& resolved, const Task& given, std::string& note);

struct EvaluateOptions {
  std::string input;                    ///< The engine's image input; empty when it has only one.
  std::optional<Preprocess> preprocess; ///< Unset: the engine's own.
  int batch = 1;                        ///< Pictures per run; the last run repeats its last picture.
  std::size_t worst = 12;
  int threads = 2; ///< Threads that read pictures ahead.
  /// Runs the network in place of the engine, which then only says what inputs and outputs mean: takes a
  /// batch of preprocessed pictures, returns the outputs by name. Null: the engine runs.
  std::function<std::map<std::string, Tensor>(const Tensor& pictures)> run;
  Limits limits;
  Control control;
  /// Called for each picture that cannot be read or whose ground truth is damaged; it is skipped and counted.
  /// Null: the first error is thrown.
  std::function<void(const Error&)> on_failed;
};

/// Runs all pictures of a data set. `task` is one from evaluation_task(). Owns threads for as long as it
/// runs.
Evaluation evaluate(const Engine& engine, const Task& task, const Dataset& data,
                    const EvaluateOptions& options = {});

} // namespace lanner
