#include "tf/convert/engine_cache.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/check.h"
#include "engine/state.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

/// Setting a cancel token wakes nobody, so waiters poll it.
constexpr std::chrono::milliseconds poll_interval{10};

bool contains(const std::vector<PartShapes>& list, const PartShapes& shapes) {
  return std::ranges::find(list, shapes) != list.end();
}

} // namespace

std::vector<Shape> engine_order(const Engine& engine, const PartShapes& shapes) {
  std::vector<Shape> ordered;
  for (const Binding& input : engine.inputs())
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (input.name == input_binding(i)) ordered.push_back(shapes[i]);
  return ordered;
}

PartShapes part_order(const Engine& engine, const std::vector<Shape>& shapes) {
  PartShapes ordered(shapes.size());
  for (std::size_t e = 0; e < shapes.size(); ++e)
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (engine.inputs()[e].name == input_binding(i)) ordered[i] = shapes[e];
  return ordered;
}

std::uint64_t CacheGroup::held() const {
  std::uint64_t bytes = 0;
  for (const EngineCache* cache : caches) bytes += cache->held();
  return bytes;
}

bool CacheGroup::evict_oldest(const CacheEntry* except) {
  EngineCache* owner = nullptr;
  EntryPtr oldest;
  for (EngineCache* cache : caches)
    if (EntryPtr entry = cache->oldest(except); entry && (!oldest || entry->used < oldest->used)) {
      oldest = std::move(entry);
      owner = cache;
    }
  if (!oldest) return false;
  owner->evict(oldest);
  if (!owner->entries_.empty()) return true;
  owner->engine_.reset();
  owner->used_engine_ = false;
  return true;
}

void CacheGroup::wait(std::unique_lock<std::mutex>& lock, const Control& control) {
  changed.wait_for(lock, poll_interval);
  control.cancel.check();
}

void CacheGroup::warn(const std::string& message) const {
  const AccountScope charged(account);
  log_message(LogLevel::warning, message);
}

Lease::~Lease() {
  if (cache_) cache_->give_back(*this);
}

EngineCache::EngineCache(std::string name, CacheRules rules, std::shared_ptr<CacheGroup> group,
                         EngineMaker maker, bool shared)
    : name_(std::move(name)), rules_(rules), group_(std::move(group)), maker_(std::move(maker)),
      shared_(shared) {
  const std::lock_guard lock(group_->mutex);
  group_->caches.push_back(this);
}

EngineCache::~EngineCache() {
  const std::lock_guard lock(group_->mutex);
  std::erase(group_->caches, this);
}

EngineCache::Taken EngineCache::take(const PartShapes& shapes, int threads, const Control& control,
                                     bool ahead) {
  if (const auto cause = refused(rules_, shapes)) return native(*cause, shapes);
  EntryPtr entry;
  std::optional<NativeCause> cause;
  for (bool searching = true; searching;) {
    Lock lock(group_->mutex);
    searching = false;
    if ((entry = found(lock, shapes, control))) {
      if (auto lease = lend(lock, entry, shapes, threads, control, !ahead)) return *std::move(lease);
      searching = entry->dropped;
      cause = NativeCause::memory_limit;
    } else if (auto served = wanted(shapes, ahead); const auto* why = std::get_if<NativeCause>(&served)) {
      cause = *why;
    } else {
      entry = add(std::get<ServedShapes>(std::move(served)));
      cause.reset();
    }
  }
  if (!cause) cause = build(entry, threads, control);
  if (cause) return native(*cause, shapes);
  Lock lock(group_->mutex);
  if (auto lease = lend(lock, entry, shapes, threads, control, false)) return *std::move(lease);
  lock.unlock();
  return native(NativeCause::memory_limit, shapes);
}

/// The entry that serves the shapes, once it is built; null: there is none.
EntryPtr EngineCache::found(Lock& lock, const PartShapes& shapes, const Control& control) {
  EntryPtr entry;
  while ((entry = fitting(shapes)) && !entry->engine) {
    check(
        entry->builder != std::this_thread::get_id(), ErrorCode::invalid_argument,
        "{}: the progress callback of a call that builds an engine runs the same shapes; expected others, or "
        "another thread",
        name_);
    group_->wait(lock, control);
  }
  return entry;
}

/// The smallest that serves the shapes, built or being built.
EntryPtr EngineCache::fitting(const PartShapes& shapes) const {
  EntryPtr best;
  for (const EntryPtr& entry : entries_)
    if (serves(entry->served, shapes) && (!best || size_of(entry->served) < size_of(best->served)))
      best = entry;
  return best;
}

/// What to build for shapes that no entry serves.
std::variant<ServedShapes, NativeCause> EngineCache::wanted(const PartShapes& shapes, bool ahead) {
  if (broken_) return NativeCause::build_failed;
  ServedShapes served;
  if (rules_.mode == EngineMode::fixed) {
    if (!static_) return NativeCause::open_sizes;
    if (!serves(*static_, shapes)) return NativeCause::other_shapes;
    served = *static_;
  } else if (rules_.shapes == EngineShapes::profiles && !seen_.empty()) {
    for (ServedShapes& profile : profiles_of(rules_.strategy, seen_))
      if (served.empty() && serves(profile, shapes)) served = std::move(profile);
    if (served.empty() && !shapes.empty()) return NativeCause::outside_profiles;
  } else {
    served = served_by(rules_, shapes);
  }
  const PartShapes opt = opt_of(served);
  if (contains(failed_, opt)) return NativeCause::build_failed;
  if (contains(too_large_, opt)) return NativeCause::memory_limit;
  if (!rules_.build_at_run && !ahead) return NativeCause::not_built;
  if (rules_.shapes == EngineShapes::profiles && seen_.empty()) seen_.push_back(shapes);
  return served;
}

/// Counts a native run, and warns of the first of its cause.
NativeCause EngineCache::native(NativeCause cause, const PartShapes& shapes) {
  std::uint64_t& count = natives_[static_cast<std::size_t>(cause)];
  bool first = false;
  {
    const std::lock_guard lock(group_->mutex);
    first = count++ == 0;
  }
  if (first)
    group_->warn(
        fmt::format("{}: runs natively for inputs {}: {} ({}); further runs of this cause are counted", name_,
                    shapes_text(shapes), sentence(cause), to_string(cause)));
  return cause;
}

/// A context of an entry; unlocks. Nothing where the memory limit has no room for another, or where the entry
/// was dropped while one was waited for.
std::optional<Lease> EngineCache::lend(Lock& lock, const EntryPtr& entry, const PartShapes& shapes,
                                       int threads, const Control& control, bool hit) {
  const bool dropped = entry->dropped;
  const int wanted = threads > 0 ? threads : entry->engine->threads();
  const auto is_wanted = [&](const CacheEntry::Idle& each) { return each.context.threads() == wanted; };
  auto idle = std::ranges::find_if(entry->idle, is_wanted);
  while (idle == entry->idle.end()) {
    Room room = room_for(entry, *entry->engine, entry->scratch);
    if (room != Room::yes) { // else contexts for other numbers of threads stay
      release_idle(*entry);
      idle = entry->idle.end();
      room = room_for(entry, *entry->engine, entry->scratch);
    }
    if (room == Room::yes) break;
    if (room == Room::none) return std::nullopt;
    group_->wait(lock, control);
    if (entry->dropped != dropped) return std::nullopt;
    idle = std::ranges::find_if(entry->idle, is_wanted);
  }
  entry->used = ++group_->clock;
  hits_ += hit;
  ++group_->lent;
  if (idle != entry->idle.end()) {
    Lease lease(*this, entry, idle->bytes, shapes);
    lease.context_ = std::move(idle->context);
    if (idle != std::prev(entry->idle.end())) *idle = std::move(entry->idle.back());
    entry->idle.pop_back();
    return lease;
  }
  entry->idle.reserve(++entry->contexts); // so that giving back needs no memory
  entry->held += entry->scratch;
  scratch_ += entry->scratch;
  Lease lease(*this, entry, entry->scratch, shapes);
  lock.unlock();
  ContextOptions options;
  options.threads = threads;
  lease.context_ = entry->engine->create_context(options);
  return lease;
}

void EngineCache::give_back(Lease& lease) noexcept {
  std::optional<Context> freed; // after the lock: it may wait for a device
  {
    const std::lock_guard lock(group_->mutex);
    CacheEntry& entry = *lease.entry_;
    --group_->lent;
    const std::uint64_t before = lease.bytes_;
    const std::uint64_t now = lease.context_ ? std::max(before, lease.context_->arena_bytes()) : 0;
    const bool kept = lease.context_ && !entry.dropped;
    entry.held += (kept ? now : 0) - before;
    scratch_ += (kept ? now : 0) - before;
    if (kept) {
      const bool other = !std::ranges::equal(*lease.shapes_, entry.served, {}, {}, &ShapeRange::opt);
      if (other && !contains(entry.others, *lease.shapes_)) entry.others.push_back(*lease.shapes_);
      entry.idle.push_back({*std::move(lease.context_), now});
    } else {
      --entry.contexts;
      freed = std::move(lease.context_);
      if (entry.dropped) forget(*entry.engine, *lease.shapes_);
    }
    while (group_->held() > group_->limit && group_->evict_oldest(&entry)) {
    }
  }
  group_->changed.notify_all();
}

EntryPtr EngineCache::add(ServedShapes served) {
  auto entry = std::make_shared<CacheEntry>();
  entry->served = std::move(served);
  entry->profile = rules_.shapes == EngineShapes::profiles || rules_.mode == EngineMode::fixed;
  entry->builder = std::this_thread::get_id();
  entries_.push_back(entry);
  return entry;
}

/// Whether an entry may take further bytes: others of the model are evicted, least recently used first.
EngineCache::Room EngineCache::room_for(const EntryPtr& entry, const Engine& engine, std::uint64_t bytes) {
  if (group_->limit == UINT64_MAX) return Room::yes;
  if (state_of(engine).account->held() + bytes > group_->limit) return Room::none;
  while (group_->held() + bytes > group_->limit && group_->evict_oldest(entry.get())) {
  }
  if (group_->held() + bytes <= group_->limit) return Room::yes;
  return group_->lent > 0 ? Room::later : Room::none;
}

/// The same, once contexts that run have been given back.
bool EngineCache::has_room(Lock& lock, const EntryPtr& entry, const Engine& engine, std::uint64_t bytes,
                           const Control& control) {
  Room room = room_for(entry, engine, bytes);
  for (; room == Room::later; room = room_for(entry, engine, bytes)) group_->wait(lock, control);
  return room == Room::yes;
}

/// Makes an entry ready, and evicts what is more than the maximum.
void EngineCache::keep(const EntryPtr& entry, const Engine& engine, std::uint64_t scratch) {
  entry->engine = engine;
  entry->scratch = scratch;
  entry->used = ++group_->clock;
  used_engine_ = true;
  const auto counted = [&](const EntryPtr& each) { return each->engine && !each->profile; };
  while (static_cast<std::size_t>(std::ranges::count_if(entries_, counted)) > rules_.maximum) {
    EntryPtr oldest;
    for (const EntryPtr& each : entries_)
      if (counted(each) && each != entry && (!oldest || each->used < oldest->used)) oldest = each;
    if (!oldest) break;
    evict(oldest);
  }
}

void EngineCache::release_idle(CacheEntry& entry) {
  for (const CacheEntry::Idle& idle : entry.idle) {
    entry.held -= idle.bytes;
    scratch_ -= idle.bytes;
  }
  entry.contexts -= entry.idle.size();
  entry.idle.clear();
}

/// Takes an entry out of the cache and its kernels out of the engine.
void EngineCache::drop(const EntryPtr& entry) {
  std::erase(entries_, entry);
  entry->dropped = true;
  release_idle(*entry);
  if (!entry->engine) return;
  forget(*entry->engine, opt_of(entry->served));
  for (const PartShapes& shapes : entry->others) forget(*entry->engine, shapes);
}

/// Removes kernels for these shapes from the engine, unless they are an entry's own.
void EngineCache::forget(const Engine& engine, const PartShapes& shapes) {
  const auto own = [&](const EntryPtr& entry) { return opt_of(entry->served) == shapes; };
  if (std::ranges::none_of(entries_, own)) state_of(engine).variants().remove(engine_order(engine, shapes));
}

void EngineCache::evict(const EntryPtr& entry) {
  ++evicted_;
  drop(entry);
}

EntryPtr EngineCache::oldest(const CacheEntry* except) const {
  EntryPtr oldest;
  for (const EntryPtr& entry : entries_)
    if (entry->engine && entry.get() != except && (!oldest || entry->used < oldest->used)) oldest = entry;
  return oldest;
}

std::uint64_t EngineCache::held() const {
  return scratch_ + (engine_ ? state_of(*engine_).account->held() : 0);
}

std::optional<Engine> EngineCache::engine() const {
  const std::lock_guard lock(group_->mutex);
  return engine_;
}

std::string EngineCache::calibration() const {
  const std::lock_guard lock(group_->mutex);
  return calibration_;
}

/// The most recently used first.
std::vector<EntryPtr> EngineCache::ready() const {
  std::vector<EntryPtr> latest;
  for (const EntryPtr& entry : entries_)
    if (entry->engine) latest.push_back(entry);
  std::ranges::sort(latest, std::ranges::greater(), &CacheEntry::used);
  return latest;
}

std::vector<ServedShapes> EngineCache::entries() const {
  const std::lock_guard lock(group_->mutex);
  std::vector<ServedShapes> all;
  for (const EntryPtr& entry : ready()) all.push_back(entry->served);
  return all;
}

EngineCounters EngineCache::counters() const {
  const std::lock_guard lock(group_->mutex);
  EngineCounters counters;
  counters.engine = name_;
  counters.maximum = rules_.maximum;
  counters.built = built_;
  counters.hits = hits_;
  counters.evicted = evicted_;
  counters.build_error = build_error_;
  counters.weight_bytes = held() - scratch_;
  for (std::size_t c = 0; c < native_causes; ++c)
    if (natives_[c] > 0) counters.native[static_cast<NativeCause>(c)] = natives_[c];
  for (const EntryPtr& entry : ready()) {
    CachedEngine& cached = counters.cached.emplace_back();
    for (std::size_t i = 0; i < entry->served.size(); ++i) cached.shapes[input_binding(i)] = entry->served[i];
    cached.build_seconds = entry->seconds;
    cached.bytes = entry->held;
  }
  return counters;
}

} // namespace lanner::tf
