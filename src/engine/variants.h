#pragma once
// The variants of an engine: a program for one set of input shapes and one number of threads, each made once.

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

/// What a variant is once it is made: a Program for its input shapes and threads, with what explain tells of
/// it.
struct MadeVariant {
  std::shared_ptr<const Program> program;
  std::vector<NodeReport> reports;
  int threads = 1;
  bool ahead = false; ///< Chosen by tuning for these very shapes, by a build or by prepare.
};
using MadeVariantPtr = std::shared_ptr<const MadeVariant>;

struct VariantKey {
  InputShapes shapes;
  int threads = 1;
  bool operator<(const VariantKey& other) const;
};

/// Thread-safe. Its lock is never held while a variant is made, so who looks for one that is there finds it
/// at once.
class Variants {
public:
  using Maker = std::function<MadeVariant()>;

  /// The variant, made now by `make`, on this thread, where there is none. Who wants one that another thread
  /// makes waits for it, until `control` or the thread's deadline ends that; where the maker fails, one that
  /// waits becomes the maker. `ahead`: one that was not made ahead is made again and replaced. Throws what
  /// `make` throws, and Error{invalid_argument} where `make` itself asks for what it makes.
  MadeVariantPtr get(const VariantKey& key, bool ahead, const Control& control, const Maker& make);
  /// Puts a ready one in, where there is none.
  void put(const VariantKey& key, MadeVariant made);

  /// A variant of these shapes to take tactics from: one made ahead before others, one of so many threads
  /// before others. Null where there is none.
  MadeVariantPtr of_shapes(const InputShapes& shapes, int threads) const;
  /// All of them by threads and shapes.
  std::vector<std::pair<VariantKey, MadeVariantPtr>> list() const;
  /// Shapes whose variants stay; of the rest the one goes that was not asked for the longest.
  void pin(const InputShapes& shapes);
  /// How often a variant was replaced: who keeps some looks again when this has changed.
  std::uint64_t replaced() const noexcept { return replaced_.load(std::memory_order_acquire); }

private:
  struct Kept {
    MadeVariantPtr variant;
    std::uint64_t used = 0; ///< Number of the request that it answered last.
  };
  class Making;
  MadeVariantPtr find(const VariantKey& key, bool ahead);
  void keep(const VariantKey& key, MadeVariantPtr made);
  bool pinned(const InputShapes& shapes) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_; ///< A maker is done, or has failed.
  std::map<VariantKey, Kept> made_;
  std::map<VariantKey, std::thread::id> making_; ///< By whom.
  std::vector<InputShapes> pinned_;
  std::uint64_t requests_ = 0;
  std::atomic<std::uint64_t> replaced_{0};
};

} // namespace lanner
