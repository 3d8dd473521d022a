#pragma once
// Cancellation and progress of long calls.

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

namespace lanner {

/// Shared flag that asks a long call to stop. Copies refer to one flag; setting it is safe from any thread
/// and from a signal handler. A default token is never set and costs nothing.
class CancelToken {
public:
  CancelToken() = default;
  static CancelToken create() { return CancelToken(std::make_shared<std::atomic<bool>>(false)); }

  void cancel() const noexcept {
    if (flag_) flag_->store(true, std::memory_order_relaxed);
  }
  bool cancelled() const noexcept { return flag_ && flag_->load(std::memory_order_relaxed); }
  /// Throws Error{cancelled} once the flag is set.
  void check() const;

private:
  explicit CancelToken(std::shared_ptr<std::atomic<bool>> flag) : flag_(std::move(flag)) {}
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// Progress of a long call. `total` is 0 when it is unknown.
struct ProgressUpdate {
  std::string_view stage; ///< `decode`, `tune`, `encode`: valid during the call only.
  double done = 0;        ///< In `unit`s.
  double total = 0;
  std::string_view unit; ///< `frames`, `kernels`, `bytes`.
};

/// Receives updates on the thread that does the work; must not throw.
using ProgressCallback = std::function<void(const ProgressUpdate&)>;

/// Parameters of every long call: a way to stop it and a way to watch it. Both may be left empty.
struct Control {
  CancelToken cancel;
  ProgressCallback progress;

  void report(const ProgressUpdate& update) const {
    if (progress) progress(update);
  }
};

} // namespace lanner
