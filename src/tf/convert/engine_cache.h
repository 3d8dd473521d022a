#pragma once
// The engines of one part of a converted model, by the shapes of its inputs.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <lanner/tensorflow.h>

#include "base/limits/account.h"
#include "tf/convert/cache_rules.h"

namespace lanner::tf {

class EngineCache;
struct CacheEntry;

/// What the caches of a model share: one lock, held to look up and to count, never while an engine is built
/// or runs.
struct CacheGroup {
  std::mutex mutex;
  std::condition_variable changed;  ///< An engine was built, or a context was given back.
  std::uint64_t clock = 0;          ///< Number of the last use, for the least recently used.
  std::uint64_t limit = UINT64_MAX; ///< Set before the first use.
  AccountPtr account;               ///< With the environment's settings, for messages; null: the process's.
  std::size_t lent = 0;             ///< Contexts that are running.
  std::vector<EngineCache*> caches;

  std::uint64_t held() const; ///< Bytes of the engines of all caches and their contexts.
  /// Evicts the least recently used engine of all, and frees the weights of a part that has no other; false
  /// where there is none but `except`.
  bool evict_oldest(const CacheEntry* except);
  void wait(std::unique_lock<std::mutex>& lock, const Control& control);
  /// To the environment's log; without the lock.
  void warn(const std::string& message) const;
};

/// An engine of the cache: a variant of the part's engine with contexts of its own.
struct CacheEntry {
  struct Idle {
    Context context;
    std::uint64_t bytes; ///< Of its scratch memory.
  };
  ServedShapes served;
  std::optional<Engine> engine; ///< Unset while it is built.
  bool profile = false;         ///< Stays, however many there are.
  bool dropped = false;         ///< No longer in the cache.
  std::thread::id builder;      ///< The thread that builds or built it.
  std::uint64_t used = 0;
  double seconds = 0;
  std::uint64_t scratch = 0; ///< Bytes that a context needs.
  std::uint64_t held = 0;    ///< Bytes of all its contexts.
  std::size_t contexts = 0;  ///< Idle and running.
  std::vector<Idle> idle;
  std::vector<PartShapes> others; ///< Served besides `opt`: they have variants too.
};
using EntryPtr = std::shared_ptr<CacheEntry>;

/// A context of an entry for one run; gives it back when destroyed.
class Lease {
public:
  Lease(EngineCache& cache, EntryPtr entry, std::uint64_t bytes, const PartShapes& shapes)
      : cache_(&cache), entry_(std::move(entry)), bytes_(bytes), shapes_(&shapes) {}
  Lease(Lease&& other) noexcept
      : cache_(std::exchange(other.cache_, nullptr)), entry_(std::move(other.entry_)), bytes_(other.bytes_),
        context_(std::move(other.context_)), shapes_(other.shapes_) {}
  ~Lease();
  Context& context() { return *context_; }

private:
  friend class EngineCache;
  EngineCache* cache_; ///< Null: moved from.
  EntryPtr entry_;
  std::uint64_t bytes_;
  std::optional<Context> context_;
  const PartShapes* shapes_; ///< Of the run.
};

/// Shapes in the order of the engine's inputs.
std::vector<Shape> engine_order(const Engine& engine, const PartShapes& shapes);
/// The same back: shapes of the engine's inputs in the order of the part's.
PartShapes part_order(const Engine& engine, const std::vector<Shape>& shapes);

/// Makes the part's engine, or with `native` one for its native runs.
using EngineMaker = std::function<Engine(bool native, const Control& control)>;

/// Thread-safe.
class EngineCache {
public:
  /// `shared`: native runs use the same engine where there is one.
  EngineCache(std::string name, CacheRules rules, std::shared_ptr<CacheGroup> group, EngineMaker maker,
              bool shared);
  EngineCache(const EngineCache&) = delete;
  ~EngineCache();

  // While the model is made.
  /// Makes the part's engine, and where all sizes are known its first entry. If that fails, the part runs
  /// natively; throws where it cannot do that either.
  void make_engine(const Control& control);
  /// The only entry of static mode; nothing: open sizes.
  void build_static(const std::optional<PartShapes>& shapes, const Control& control);
  /// An engine that was saved, with its entries.
  void adopt(Engine engine, std::vector<ServedShapes> entries);

  using Taken = std::variant<Lease, NativeCause>;
  /// A context of the engine that serves these shapes, which must outlive the lease; the engine is built now
  /// if there is none, or another caller's build is waited for. Else why the part runs natively. `ahead`: for
  /// Model::build, which is no hit. Throws what ends the call: Error{cancelled}.
  Taken take(const PartShapes& shapes, int threads, const Control& control, bool ahead = false);
  /// Makes the part's engine where there is none, so that native runs share it. If that fails the part runs
  /// natively from then on.
  void need_engine(const Control& control);
  /// Builds an entry for each profile of these and earlier shapes that has none.
  void build_profiles(const std::vector<PartShapes>& seen, const Control& control);
  /// The engine for native runs.
  Engine native_engine(const Control& control);

  const CacheRules& rules() const noexcept { return rules_; }
  EngineCounters counters() const;
  /// The part's engine; nothing where it was not made yet or failed.
  std::optional<Engine> engine() const;
  /// The calibration table of the part's engine, which may be gone for the memory limit; empty: none.
  std::string calibration() const;
  /// The most recently used first.
  std::vector<ServedShapes> entries() const;

private:
  friend struct CacheGroup;
  friend class Lease;
  using Lock = std::unique_lock<std::mutex>;
  class Turn; ///< To build.
  enum class Built : std::uint8_t { yes, with_new_engine, too_large };
  enum class Room : std::uint8_t { yes, later, none };

  // Looking up; the group's lock is held, except by native() and give_back().
  EntryPtr found(Lock& lock, const PartShapes& shapes, const Control& control);
  EntryPtr fitting(const PartShapes& shapes) const;
  std::variant<ServedShapes, NativeCause> wanted(const PartShapes& shapes, bool ahead);
  NativeCause native(NativeCause cause, const PartShapes& shapes);
  std::optional<Lease> lend(Lock& lock, const EntryPtr& entry, const PartShapes& shapes, int threads,
                            const Control& control, bool hit);
  void give_back(Lease& lease) noexcept;

  // Building; without the group's lock.
  void set_engine(const Engine& engine);
  Engine made_engine(const Control& control);
  void register_known(const Engine& engine, double seconds, const Control& control);
  std::optional<NativeCause> build(const EntryPtr& entry, int threads, const Control& control);
  Built build_once(const EntryPtr& entry, int threads, const Control& control);
  void fail(const EntryPtr& entry, const std::string& message);

  // Keeping; the group's lock is held.
  EntryPtr add(ServedShapes served);
  Room room_for(const EntryPtr& entry, const Engine& engine, std::uint64_t bytes);
  bool has_room(Lock& lock, const EntryPtr& entry, const Engine& engine, std::uint64_t bytes,
                const Control& control);
  void keep(const EntryPtr& entry, const Engine& engine, std::uint64_t scratch);
  void release_idle(CacheEntry& entry);
  void drop(const EntryPtr& entry);
  void forget(const Engine& engine, const PartShapes& shapes);
  void evict(const EntryPtr& entry);
  EntryPtr oldest(const CacheEntry* except) const;
  std::vector<EntryPtr> ready() const;
  std::uint64_t held() const;

  const std::string name_;
  const CacheRules rules_;
  const std::shared_ptr<CacheGroup> group_;
  const EngineMaker maker_;
  const bool shared_;

  // Below: with the group's lock.
  std::thread::id builder_; ///< The thread that builds; none: no thread does.
  std::optional<Engine> engine_, native_;
  bool used_engine_ = false;           ///< Had entries, whose weights it may still hold.
  bool broken_ = false;                ///< The engine cannot be made: all runs are native.
  std::optional<ServedShapes> static_; ///< Of static mode; unset: sizes were not known.
  std::vector<EntryPtr> entries_;
  std::vector<PartShapes> failed_, too_large_; ///< Opt shapes that are not built again.
  std::vector<PartShapes> seen_;               ///< What the profiles are made of.
  std::uint64_t scratch_ = 0; ///< Of contexts of all entries, dropped ones that still run included.
  std::uint64_t built_ = 0, hits_ = 0, evicted_ = 0;
  std::array<std::uint64_t, native_causes> natives_{};
  std::string build_error_, calibration_;
};

} // namespace lanner::tf
