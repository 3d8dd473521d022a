#pragma once
// A second network that runs on the boxes found by a first one.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/engine.h>
#include <lanner/task.h>

namespace lanner {

struct CropOptions {
  std::string input{};                    ///< The engine's image input; empty where it has only one input.
  std::optional<Preprocess> preprocess{}; ///< Unset: the engine's own. Its region must be the whole picture.
  float margin = 0;                       ///< On each side of a box, as a fraction of its width and height.
  /// Classes of the first network: boxes of other classes are skipped; empty: all classes.
  std::vector<std::int64_t> classes{};
  std::int64_t max_boxes = 0; ///< The number of best remaining boxes to run on; 0: all.
  /// Crops per run, where the engine leaves the batch size open; 0: as many as it takes, at most 8.
  int batch = 0;
  ContextOptions context{};
  Limits limits{}; ///< For each result.
};

/// Runs a network on the part of the picture in each box of a result, and stores its results in
/// TaskResult::crops. The parts are read where the picture is, on the host or the engine's GPU, by the pass
/// that resizes them: no crop is copied. Used by one thread at a time; any number of runners may share one
/// engine.
class CropRunner {
public:
  /// Unset parts of `task` are resolved. Throws Error{invalid_argument} where the outputs do not fit the
  /// task or have no known meaning, where no preprocessing is known for the input, and for invalid options.
  explicit CropRunner(const Engine& engine, Task task = {}, const CropOptions& options = {});
  ~CropRunner();
  CropRunner(CropRunner&&) noexcept;
  CropRunner& operator=(CropRunner&&) noexcept;

  /// Fills in `crops` and `crop_task` of `found`, which is a result for `picture`. A box is rounded outwards
  /// and clipped to the picture; for a rotated one the upright box around it is used. The result for a box
  /// that was skipped or covers no pixel is empty: no classes or boxes, tensors and pictures without
  /// elements, `region` all zero. Throws Error{invalid_argument} for a result without boxes or of another
  /// picture; `found` is then unchanged.
  void run(const Image& picture, TaskResult& found, const Control& control = {});
  /// The same with these classes instead of CropOptions::classes.
  void run(const Image& picture, TaskResult& found, std::span<const std::int64_t> classes,
           const Control& control = {});

  const Task& task() const noexcept;          ///< Resolved.
  const std::string& reason() const noexcept; ///< One line: what the outputs mean, and how that was found.
  /// To be used only between two calls of run().
  const Context& context() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
