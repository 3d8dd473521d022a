// EngineCache: how engines are made.

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "engine/state.h"
#include "tf/convert/engine_cache.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::map<std::string, Shape> by_binding(const PartShapes& shapes) {
  std::map<std::string, Shape> named;
  for (std::size_t i = 0; i < shapes.size(); ++i) named[input_binding(i)] = shapes[i];
  return named;
}

/// Pins the variant of these shapes, so that the cache alone removes it. Returns the bytes of scratch memory
/// that a context needs for it.
std::uint64_t pinned(const Engine& engine, const PartShapes& shapes, int threads, const Control& control) {
  const EngineState& state = state_of(engine);
  const InputShapes ordered = engine_order(engine, shapes);
  state.variants().pin(ordered);
  const int team = threads > 0 ? threads : state.target.threads;
  return state.variant(ordered, team, control, false)->program->arena_bytes();
}

} // namespace

/// The right to build: one build at a time, since builds time kernels. Waits for others.
class EngineCache::Turn {
public:
  Turn(EngineCache& cache, const Control& control) : cache_(cache) {
    Lock lock(cache.group_->mutex);
    check(cache.builder_ != std::this_thread::get_id(), ErrorCode::invalid_argument,
          "{}: the progress callback of a call that builds an engine needs another one; expected another "
          "thread",
          cache.name_);
    while (cache.builder_ != std::thread::id()) cache.group_->wait(lock, control);
    cache.builder_ = std::this_thread::get_id();
  }
  Turn(const Turn&) = delete;
  ~Turn() {
    {
      const std::lock_guard lock(cache_.group_->mutex);
      cache_.builder_ = std::thread::id();
    }
    cache_.group_->changed.notify_all();
  }

private:
  EngineCache& cache_;
};

void EngineCache::set_engine(const Engine& engine) {
  engine_ = engine;
  const auto table = engine.metadata().find("lanner.calibration");
  if (table != engine.metadata().end()) calibration_ = table->second;
}

/// The part's engine, made now if there is none. The caller has the turn.
Engine EngineCache::made_engine(const Control& control) {
  if (auto made = engine()) return *std::move(made);
  try {
    Engine made = maker_(false, control);
    const std::lock_guard lock(group_->mutex);
    set_engine(made);
    return made;
  } catch (const Error& error) {
    const std::lock_guard lock(group_->mutex);
    broken_ = error.code() != ErrorCode::cancelled;
    throw;
  }
}

Engine EngineCache::native_engine(const Control& control) {
  const auto known = [&]() -> std::optional<Engine> {
    const std::lock_guard lock(group_->mutex);
    return native_ || !shared_ ? native_ : engine_;
  };
  if (auto engine = known()) return *std::move(engine);
  const Turn turn(*this, control);
  if (auto engine = known()) return *std::move(engine);
  Engine made = maker_(true, control);
  const std::lock_guard lock(group_->mutex);
  native_ = made;
  return made;
}

void EngineCache::make_engine(const Control& control) {
  std::string message;
  try {
    const Turn turn(*this, control);
    const auto start = Clock::now();
    const Engine engine = made_engine(control);
    return register_known(engine, seconds_since(start), control);
  } catch (const Error& error) {
    const bool of_the_call =
        error.code() == ErrorCode::cancelled || error.code() == ErrorCode::invalid_argument;
    if (of_the_call) throw;
    message = error.message();
    try {
      static_cast<void>(native_engine(control));
    } catch (const Error&) {
      throw error;
    }
  }
  group_->warn(fmt::format("{}: no engine could be built, so it runs natively: {}", name_, message));
  const std::lock_guard lock(group_->mutex);
  build_error_ = std::move(message);
}

void EngineCache::need_engine(const Control& control) {
  try {
    const Turn turn(*this, control);
    static_cast<void>(made_engine(control));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    const std::lock_guard lock(group_->mutex);
    build_error_ = error.message();
  }
}

/// The entry of an engine whose sizes are all known: its build made the kernels.
void EngineCache::register_known(const Engine& engine, double seconds, const Control& control) {
  if (engine.open_sizes()) return;
  const PartShapes shapes = part_order(engine, *state_of(engine).opt);
  const std::uint64_t scratch = pinned(engine, shapes, 0, control);
  Lock lock(group_->mutex);
  ServedShapes served = served_by(rules_, shapes);
  if (rules_.shapes == EngineShapes::profiles) seen_.push_back(shapes);
  const EntryPtr entry = add(std::move(served));
  entry->seconds = seconds;
  ++built_;
  if (has_room(lock, entry, engine, scratch, control)) return keep(entry, engine, scratch);
  too_large_.push_back(shapes);
  drop(entry);
}

void EngineCache::build_static(const std::optional<PartShapes>& shapes, const Control& control) {
  if (!shapes) {
    group_->warn(fmt::format("{}: Input shapes must be fully defined when in static mode. Please try "
                             "is_dynamic_op=True. It runs natively; mode dynamic builds engines at run time",
                             name_));
    return;
  }
  make_engine(control);
  ServedShapes served = served_by({}, *shapes);
  EntryPtr entry;
  {
    const std::lock_guard lock(group_->mutex);
    static_ = served;
    if (broken_ || fitting(*shapes)) return;
    entry = add(std::move(served));
  }
  build(entry, 0, control);
}

void EngineCache::adopt(Engine engine, std::vector<ServedShapes> entries) {
  std::set<std::string> known; // a file may repeat entries, and say what its plan does not have
  std::erase_if(entries, [&](const ServedShapes& served) {
    if (!known.insert(to_json({served})).second) return true;
    return !state_of(engine).variants().of_shapes(engine_order(engine, opt_of(served)), engine.threads());
  });
  std::vector<std::uint64_t> scratch;
  for (const ServedShapes& served : entries) scratch.push_back(pinned(engine, opt_of(served), 0, {}));
  Lock lock(group_->mutex);
  set_engine(engine);
  for (std::size_t e = entries.size(); e-- > 0;) { // the most recently used first
    seen_.push_back(opt_of(entries[e]));
    const EntryPtr entry = add(std::move(entries[e]));
    if (rules_.mode == EngineMode::fixed) static_ = entry->served;
    if (has_room(lock, entry, engine, scratch[e], {}))
      keep(entry, engine, scratch[e]);
    else
      drop(entry);
  }
}

void EngineCache::build_profiles(const std::vector<PartShapes>& seen, const Control& control) {
  std::vector<EntryPtr> added;
  {
    const std::lock_guard lock(group_->mutex);
    for (const PartShapes& shapes : seen)
      if (std::ranges::find(seen_, shapes) == seen_.end()) seen_.push_back(shapes);
    if (broken_) return;
    for (ServedShapes& profile : profiles_of(rules_.strategy, seen_)) {
      const auto same = [&](const EntryPtr& entry) {
        return std::ranges::equal(entry->served, profile, [](const ShapeRange& a, const ShapeRange& b) {
          return a.min == b.min && a.opt == b.opt && a.max == b.max;
        });
      };
      const PartShapes opt = opt_of(profile);
      const bool refused = std::ranges::find(failed_, opt) != failed_.end() ||
                           std::ranges::find(too_large_, opt) != too_large_.end();
      if (!refused && std::ranges::none_of(entries_, same)) added.push_back(add(std::move(profile)));
    }
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    try {
      build(added[i], 0, control);
    } catch (...) {
      const std::lock_guard lock(group_->mutex);
      while (++i < added.size()) drop(added[i]);
      throw;
    }
  }
}

/// Builds an entry of the list and makes it ready, or takes it out again and says why.
std::optional<NativeCause> EngineCache::build(const EntryPtr& entry, int threads, const Control& control) {
  std::optional<NativeCause> cause;
  try {
    Built built = build_once(entry, threads, control);
    if (built == Built::with_new_engine) built = build_once(entry, threads, control);
    if (built != Built::yes) {
      const std::lock_guard lock(group_->mutex);
      too_large_.push_back(opt_of(entry->served));
      drop(entry);
      cause = NativeCause::memory_limit;
    }
  } catch (const Error& error) {
    fail(entry, error.code() == ErrorCode::cancelled ? "" : error.message());
    if (error.code() == ErrorCode::cancelled) throw;
    cause = NativeCause::build_failed;
  } catch (...) {
    fail(entry, "");
    throw;
  }
  group_->changed.notify_all();
  return cause;
}

EngineCache::Built EngineCache::build_once(const EntryPtr& entry, int threads, const Control& control) {
  const Turn turn(*this, control);
  const auto start = Clock::now();
  const Engine engine = made_engine(control);
  const PartShapes opt = opt_of(entry->served);
  engine.prepare({Variant{by_binding(opt), threads}}, control);
  const std::uint64_t scratch = pinned(engine, opt, threads, control);
  Lock lock(group_->mutex);
  entry->seconds += seconds_since(start);
  if (has_room(lock, entry, engine, scratch, control)) {
    ++built_;
    keep(entry, engine, scratch);
    return Built::yes;
  }
  // The engine may still hold weights in layouts of kernels that are gone.
  const bool once_more = std::exchange(used_engine_, false);
  state_of(engine).variants().remove(engine_order(engine, opt));
  if (entries_.size() == 1) engine_.reset();
  return once_more && !engine_ ? Built::with_new_engine : Built::too_large;
}

/// Takes an entry out whose build ended early; with a message it is not tried again.
void EngineCache::fail(const EntryPtr& entry, const std::string& message) {
  const std::string shapes = shapes_text(opt_of(entry->served));
  {
    const std::lock_guard lock(group_->mutex);
    drop(entry);
    if (!message.empty()) {
      constexpr std::size_t most = 1024; // the oldest may be tried again
      if (failed_.size() >= most) failed_.erase(failed_.begin());
      failed_.push_back(opt_of(entry->served));
      build_error_ = message;
    }
  }
  group_->changed.notify_all();
  if (!message.empty())
    group_->warn(fmt::format("{}: no engine could be built for inputs {}, which run "
                             "natively: {}",
                             name_, shapes, message));
}

} // namespace lanner::tf
