#pragma once
// The variants of an engine: programs for one set of input shapes and one number of threads, each made once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <lanner/cancel.h>

#include "engine/context/given_shapes.h"
#include "program/lowered/report.h"
#include "program/program.h"

namespace lanner {

/// A finished variant: a Program for its input shapes and threads, with its report for explain.
struct MadeVariant {
  std::shared_ptr<const Program> program;
  std::vector<NodeReport> reports;
  int threads = 1;
  bool ahead = false; ///< Tuned for exactly these shapes, by a build or by prepare.
};
using MadeVariantPtr = std::shared_ptr<const MadeVariant>;

struct VariantKey {
  InputShapes shapes;
  int threads = 1;
  bool operator<(const VariantKey& other) const;
};

/// Thread-safe. Its lock is not held while a variant is made, so lookups of existing ones never wait.
class Variants {
public:
  using Maker = std::function<MadeVariant()>;

  /// The variant; where there is none, made now by `make` on this thread. If another thread is making it,
  /// waits for that until `control` or the thread's deadline ends the wait; if that thread fails, a waiting
  /// one takes over. `ahead`: a variant that was not made ahead is made again and replaced. Throws what
  /// `make` throws, and Error{invalid_argument} where `make` requests the variant that it makes.
  MadeVariantPtr get(const VariantKey& key, bool ahead, const Control& control, const Maker& make);
  /// Adds an existing variant where there is none.
  void put(const VariantKey& key, MadeVariant made);

  /// A variant of these shapes whose tactics can be reused: preferably made ahead, then with this number of
  /// threads. Null where there is none.
  MadeVariantPtr of_shapes(const InputShapes& shapes, int threads) const;
  /// All variants by threads and shapes.
  std::vector<std::pair<VariantKey, MadeVariantPtr>> list() const;
  /// Shapes whose variants are never evicted; of the others the least recently used is.
  void pin(const InputShapes& shapes);
  /// Removes all variants of these shapes and unpins them. Contexts that have them ready keep them.
  void remove(const InputShapes& shapes);
  /// Number of replaced variants: holders look variants up again when it has changed.
  std::uint64_t replaced() const noexcept { return replaced_.load(std::memory_order_acquire); }

private:
  struct Kept {
    MadeVariantPtr variant;
    std::uint64_t used = 0; ///< Number of the last request for it.
  };
  class Making;
  MadeVariantPtr find(const VariantKey& key, bool ahead);
  void keep(const VariantKey& key, MadeVariantPtr made);
  bool pinned(const InputShapes& shapes) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_; ///< Notified when a maker is done or has failed.
  std::map<VariantKey, Kept> made_;
  std::map<VariantKey, std::thread::id> making_; ///< Keys being made, and the threads that make them.
  std::vector<InputShapes> pinned_;
  std::uint64_t requests_ = 0;
  std::atomic<std::uint64_t> replaced_{0};
};

} // namespace lanner
