#include "output/paired_evaluation.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "check.h"

namespace lanner::tool {
namespace {

constexpr const char* changed = "eval: the pictures changed while they were read";

/// Outputs that one thread hands to another, batch by batch: those of a whole data set may not fit in memory.
class Handover {
public:
  /// Waits until the outputs before were taken. False: no more are taken.
  bool give(Outputs outputs) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return ended_ || !waiting_; });
    if (ended_) return false;
    waiting_ = std::move(outputs);
    turned_.notify_all();
    return true;
  }

  /// Waits for the next outputs; nothing: no more are given.
  std::optional<Outputs> take() {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return ended_ || waiting_; });
    std::optional<Outputs> taken = std::exchange(waiting_, std::nullopt);
    turned_.notify_all();
    return taken;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    turned_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable turned_;
  std::optional<Outputs> waiting_;
  bool ended_ = false;
};

struct EndAtExit {
  Handover& handover;
  ~EndAtExit() { handover.end(); }
};

/// Those of the first network, whose failures, progress and worst pictures are the second one's too.
EvaluateOptions quiet(const EvaluateOptions& options) {
  EvaluateOptions own = options;
  own.worst = 0;
  own.control = {options.control.cancel, {}};
  if (options.on_failed) own.on_failed = [](const Error&) {};
  return own;
}

} // namespace

PairedEvaluation evaluate_pair(const PairedNetwork& first, const PairedNetwork& second,
                               const CompareOutputs& compare, const Task& task, const Dataset& data,
                               const EvaluateOptions& options) {
  Handover handover;
  std::mutex running; // both networks use all their threads
  const auto run = [&](const PairedNetwork& network, const Tensor& pictures) {
    const std::lock_guard lock(running);
    return network.run(pictures);
  };
  std::future<Evaluation> beside = std::async(std::launch::async, [&] {
    const EndAtExit end{handover};
    EvaluateOptions own = quiet(options);
    own.run = [&](const Tensor& pictures) {
      Outputs outputs = run(first, pictures);
      check(handover.give(outputs), ErrorCode::bad_data, "{}", changed);
      return outputs;
    };
    return evaluate(first.engine, task, data, own);
  });
  const EndAtExit end{handover}; // else an error here would wait for the other thread for ever
  auto left = static_cast<std::int64_t>(data.size());
  EvaluateOptions own = options;
  if (options.on_failed)
    own.on_failed = [&](const Error& error) {
      --left;
      options.on_failed(error);
    };
  own.run = [&](const Tensor& pictures) {
    Outputs outputs = run(second, pictures);
    const std::int64_t rows = std::min(pictures.shape()[0], left);
    left -= rows;
    if (rows == 0) return outputs; // the worst pictures run again
    const std::optional<Outputs> others = handover.take();
    if (!others) beside.get(); // throws its error
    check(others.has_value(), ErrorCode::bad_data, "{}", changed);
    compare(*others, outputs, rows);
    return outputs;
  };
  PairedEvaluation both;
  both.second = evaluate(second.engine, task, data, own);
  handover.end();
  both.first = beside.get();
  return both;
}

} // namespace lanner::tool
