// Runs a network over the images of a dataset.

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <optional>

#include <fmt/format.h>

#include <lanner/evaluation.h>
#include <lanner/image.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/threads/thread_pool.h"
#include "tasks/read/result_parts.h"

namespace lanner {
namespace {

constexpr int most_batch = 65536;

/// An image that was read, or the error.
struct Loaded {
  std::size_t number = 0;
  Image image;
  GroundTruth truth;
  std::optional<Error> error;
};

Loaded load(const Dataset& data, std::size_t i, const Limits& limits, const CancelToken& cancel) {
  Loaded loaded;
  loaded.number = i;
  const DeadlineScope deadline(limits, cancel);
  try {
    cancel.check();
    loaded.image = data.image(i, limits);
    loaded.truth = data.truth(i, loaded.image.width, loaded.image.height);
  } catch (const Error& error) {
    loaded.error = error;
  } catch (const std::bad_alloc&) {
    loaded.error = Error(ErrorCode::out_of_memory, data.picture(i) + ": memory was refused by the system");
  }
  return loaded;
}

/// Whether an error concerns this image only, not the program or the machine: others may be read.
bool is_of_picture(const Error& error) {
  switch (error.code()) {
  case ErrorCode::not_found:
  case ErrorCode::io:
  case ErrorCode::bad_data:
  case ErrorCode::limit_exceeded:
    return true;
  case ErrorCode::unsupported:
    return error.message().find("FFmpeg") == std::string::npos; // Without FFmpeg no image can be read.
  default:
    return false;
  }
}

/// Images in order, read ahead by threads.
class Loader {
public:
  Loader(const Dataset& data, std::vector<std::size_t> numbers, const EvaluateOptions& options)
      : data_(data), numbers_(std::move(numbers)), limits_(options.limits), cancel_(options.control.cancel),
        ahead_(static_cast<std::size_t>(options.threads) + static_cast<std::size_t>(options.batch)),
        pool_(static_cast<std::size_t>(options.threads), ahead_, "lanner-read") {}

  std::optional<Loaded> next() {
    while (asked_ < numbers_.size() && waiting_.size() < ahead_) ask();
    if (waiting_.empty()) return std::nullopt;
    Loaded loaded = waiting_.front().get();
    waiting_.pop_front();
    return loaded;
  }

private:
  void ask() {
    const std::size_t number = numbers_[asked_++];
    auto task = std::make_shared<std::packaged_task<Loaded()>>(
        [this, number] { return load(data_, number, limits_, cancel_); });
    waiting_.push_back(task->get_future());
    pool_.submit([task] { (*task)(); });
  }

  const Dataset& data_;
  const std::vector<std::size_t> numbers_;
  const Limits limits_;
  const CancelToken cancel_;
  const std::size_t ahead_;
  std::size_t asked_ = 0;
  std::deque<std::future<Loaded>> waiting_;
  ThreadPool pool_; ///< Must end before the members that its tasks use.
};

const Binding& image_input(const Engine& engine, const std::string& name) {
  const Binding* found = nullptr;
  for (const Binding& input : engine.inputs()) {
    if (!name.empty() && input.name != name) continue;
    if (name.empty() && !engine.preprocess(input.name) && engine.inputs().size() > 1) continue;
    check(found == nullptr, ErrorCode::invalid_argument,
          "evaluate: several inputs of the engine take images; choose one by input");
    found = &input;
  }
  check(found != nullptr, ErrorCode::invalid_argument, "evaluate: the engine has no input '{}' for images",
        name);
  return *found;
}

class Run {
public:
  Run(const Engine& engine, const Task& task, const Dataset& data, const EvaluateOptions& options)
      : data_(data), options_(checked(options)), input_(image_input(engine, options.input)),
        spec_(spec_of(engine)), reader_(task, engine, spec_), engine_(engine) {
    if (!options_.run) context_.emplace(engine.create_context({.keep_results = true}));
    const std::int64_t fixed = input_.dims.empty() ? -1 : input_.dims[0];
    check(fixed <= most_batch, ErrorCode::limit_exceeded, "evaluate: input {}: a batch of {} is too large",
          input_.to_string(), fixed);
    if (fixed > 0) options_.batch = static_cast<int>(fixed);
  }

  /// Calls `take(loaded, result)` for each image that could be read.
  template<typename Take>
  void over(std::vector<std::size_t> numbers, Take&& take) {
    const std::size_t count = numbers.size();
    Loader loader(data_, std::move(numbers), options_);
    std::vector<Loaded> batch;
    std::size_t done = 0;
    while (std::optional<Loaded> loaded = loader.next()) {
      options_.control.cancel.check();
      ++done;
      if (loaded->error)
        fail_picture(*loaded->error, data_.picture(loaded->number));
      else
        batch.push_back(std::move(*loaded));
      if (batch.size() == static_cast<std::size_t>(options_.batch)) run(batch, take);
      if (!again_)
        options_.control.report({"eval", static_cast<double>(done), static_cast<double>(count), "pictures"});
    }
    if (!batch.empty()) run(batch, take);
  }

  std::int64_t failed() const { return failed_; }
  /// From now on nothing is counted or reported: the images are read a second time.
  void begin_again() { again_ = true; }

private:
  static const EvaluateOptions& checked(const EvaluateOptions& options) {
    check(options.batch >= 1 && options.batch <= most_batch, ErrorCode::invalid_argument,
          "evaluate: batch is {}, expected 1 to {}", options.batch, most_batch);
    check(options.threads >= 1 && options.threads <= 1024, ErrorCode::invalid_argument,
          "evaluate: threads are {}, expected 1 to 1024", options.threads);
    return options;
  }

  Preprocess spec_of(const Engine& engine) const {
    if (options_.preprocess) return *options_.preprocess;
    const std::optional<Preprocess> spec = engine.preprocess(input_.name);
    check(spec.has_value(), ErrorCode::invalid_argument,
          "evaluate: the engine has no preprocessing for input {}; give preprocess", input_.name);
    return *spec;
  }

  void fail_picture(const Error& error, const std::string& picture) {
    const bool named = error.message().find(picture) != std::string::npos;
    const Error whole = named ? error : error.within(picture);
    if (!options_.on_failed || !is_of_picture(error)) throw whole;
    if (again_) return;
    ++failed_;
    options_.on_failed(whole);
  }

  std::map<std::string, Tensor> run_engine(const std::vector<Image>& images) {
    context_->bind(input_.name, images, &spec_);
    context_->run({}, {options_.control.cancel, {}});
    std::map<std::string, Tensor> outputs;
    for (const Binding& output : engine_.outputs())
      if (!output.sequence) outputs[output.name] = context_->output(output.name).tensor;
    return outputs;
  }

  Tensor pictures_of(const std::vector<Image>& images) const {
    const Shape one = output_shape(spec_, images[0].width, images[0].height);
    std::vector<std::int64_t> dims{static_cast<std::int64_t>(images.size())};
    dims.insert(dims.end(), one.begin(), one.end());
    Tensor pictures = Tensor::allocate(spec_.dtype, Shape(std::move(dims)));
    for (std::size_t i = 0; i < images.size(); ++i)
      preprocess(images[i], spec_, pictures, static_cast<std::int64_t>(i), {.threads = options_.threads});
    return pictures;
  }

  template<typename Take>
  void run(std::vector<Loaded>& batch, Take&& take) {
    std::vector<Image> images;
    for (const Loaded& one : batch) images.push_back(one.image);
    // A network of fixed batch size gets its last image again.
    images.resize(static_cast<std::size_t>(options_.batch), images.back());
    const std::map<std::string, Tensor> outputs =
        context_ ? run_engine(images) : options_.run(pictures_of(images));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Loaded& one = batch[i];
      with_context([&] { return data_.picture(one.number); },
                   [&] {
                     take(one, reader_.read(outputs, one.image.width, one.image.height,
                                            static_cast<std::int64_t>(i), options_.limits));
                   });
    }
    batch.clear();
  }

  const Dataset& data_;
  EvaluateOptions options_;
  const Binding input_;
  const Preprocess spec_;
  const TaskReader reader_;
  const Engine engine_;
  std::optional<Context> context_; ///< None: the caller runs the network.
  std::int64_t failed_ = 0;
  bool again_ = false;
};

/// Detections with at least this score.
TaskResult from_score(const TaskResult& result, double threshold) {
  const ResultParts parts = parts_of(result);
  const auto kept = static_cast<std::int64_t>(
      std::ranges::count_if(parts.scores, [&](float score) { return score >= threshold; }));
  if (kept == parts.count) return result;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < parts.count; ++i)
    if (parts.scores[static_cast<std::size_t>(i)] >= threshold) rows.push_back(i);
  TaskResult few = result;
  const auto rows_of = [&](Tensor& tensor) {
    if (!tensor.defined()) return;
    Shape shape = tensor.shape();
    shape[0] = kept;
    Tensor taken = Tensor::allocate(tensor.dtype(), shape);
    const std::size_t bytes =
        parts.count > 0 ? static_cast<std::size_t>(tensor.bytes()) / parts.labels.size() : 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(rows[i]) * bytes,
                  bytes, static_cast<std::byte*>(taken.data()) + i * bytes);
    tensor = std::move(taken);
  };
  for (Tensor* tensor : {&few.labels, &few.scores, &few.boxes, &few.rotated, &few.keypoints})
    rows_of(*tensor);
  if (!result.masks.empty()) few.masks.clear();
  for (const std::int64_t row : rows)
    if (!result.masks.empty()) few.masks.push_back(result.masks[static_cast<std::size_t>(row)]);
  return few;
}

/// Runs the worst images again for their sizes and answers.
void run_worst_again(Run& run, Evaluation& evaluation) {
  std::vector<std::size_t> numbers;
  for (const WorstImage& one : evaluation.worst) numbers.push_back(one.picture);
  run.begin_again();
  run.over(numbers, [&](const Loaded& loaded, const TaskResult& result) {
    WorstImage& one = *std::ranges::find(evaluation.worst, loaded.number, &WorstImage::picture);
    one.width = loaded.image.width;
    one.height = loaded.image.height;
    one.answer = has_boxes(result.kind) ? from_score(result, evaluation.threshold) : result;
    one.truth = loaded.truth;
  });
}

} // namespace

Evaluation evaluate(const Engine& engine, const Task& task, const Dataset& data,
                    const EvaluateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Run run(engine, task, data, options);
  Evaluator evaluator(data.named(task), options.worst);
  std::vector<std::size_t> all(data.size()), measured;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  run.over(all, [&](const Loaded& loaded, const TaskResult& result) {
    evaluator.add(data.picture(loaded.number), result, loaded.truth);
    measured.push_back(loaded.number);
  });
  check(!measured.empty(), ErrorCode::bad_data, "evaluate: none of {} images could be read", data.size());
  Evaluation evaluation = evaluator.finish();
  evaluation.failed = run.failed();
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  evaluation.notes = data.notes();
  for (WorstImage& one : evaluation.worst) one.picture = measured[one.picture];
  run_worst_again(run, evaluation);
  return evaluation;
}

} // namespace lanner
