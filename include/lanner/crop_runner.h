#pragma once
// A second network on what the boxes of the first cover.

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
  std::string input{};                    ///< The engine's image input; empty where it has but one input.
  std::optional<Preprocess> preprocess{}; ///< Unset: what the engine says. Its region must be whole.
  float margin = 0;                       ///< Around a box, as a share of its width and height, on each side.
  /// Of the first network: boxes of others are left out; empty: none is.
  std::vector<std::int64_t> classes{};
  std::int64_t max_boxes = 0; ///< The best of those that are left; 0: all.
  /// Crops in one run, where the engine leaves that open; 0: as many as it takes, 8 at most.
  int batch = 0;
  ContextOptions context{};
  Limits limits{}; ///< Of each result.
};

/// Runs a network on what each box of a result covers, and keeps what it says in TaskResult::crops. The parts
/// are read where the picture lies, on the host or the engine's GPU, by the pass that resizes them: no crop
/// is copied. Used by one thread at a time; any number of runners may share one engine.
class CropRunner {
public:
  /// What `task` leaves open is resolved. Throws Error{invalid_argument} where the outputs do not fit the
  /// task or mean nothing that is known, where nothing says how pictures become the input, and for options
  /// that make no sense.
  explicit CropRunner(const Engine& engine, Task task = {}, const CropOptions& options = {});
  ~CropRunner();
  CropRunner(CropRunner&&) noexcept;
  CropRunner& operator=(CropRunner&&) noexcept;

  /// Fills in `crops` and `crop_task` of `found`, which is of `picture`. A box is rounded outwards and cut at
  /// the picture's edges; of a turned one the upright box around it counts. Of a box that was left out or
  /// covers no pixel the result is empty: no classes or boxes, tensors and pictures without elements,
  /// `region` all zero. Throws Error{invalid_argument} for a result without boxes or of another picture;
  /// `found` is then as it was.
  void run(const Image& picture, TaskResult& found, const Control& control = {});
  /// The same with these in place of CropOptions::classes.
  void run(const Image& picture, TaskResult& found, std::span<const std::int64_t> classes,
           const Control& control = {});

  const Task& task() const noexcept;          ///< Resolved.
  const std::string& reason() const noexcept; ///< In a line: what the outputs mean, and how that was found.
  /// At rest only between two calls of run().
  const Context& context() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
