#include "engine/variants.h"

#include <algorithm>
#include <chrono>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::size_t kept_variants = 64;
/// Setting a cancel token wakes nobody, so waiters poll it.
constexpr std::chrono::milliseconds poll_interval{10};

} // namespace

bool VariantKey::operator<(const VariantKey& other) const {
  if (threads != other.threads) return threads < other.threads;
  const auto less = [](const Shape& a, const Shape& b) { return a.dims() < b.dims(); };
  return std::lexicographical_compare(shapes.begin(), shapes.end(), other.shapes.begin(), other.shapes.end(),
                                      less);
}

/// Marks `key` as being made by the calling thread for its lifetime.
class Variants::Making {
public:
  /// The table's lock must be held.
  Making(Variants& table, const VariantKey& key) : table_(table), key_(key) {
    table_.making_.emplace(key_, std::this_thread::get_id());
  }
  Making(const Making&) = delete;
  ~Making() {
    {
      const std::lock_guard lock(table_.mutex_);
      table_.making_.erase(key_);
    }
    table_.changed_.notify_all();
  }

private:
  Variants& table_;
  const VariantKey& key_;
};

MadeVariantPtr Variants::get(const VariantKey& key, bool ahead, const Control& control, const Maker& make) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (MadeVariantPtr found = find(key, ahead)) return found;
    const auto maker = making_.find(key);
    if (maker == making_.end()) break;
    check(maker->second != std::this_thread::get_id(), ErrorCode::invalid_argument,
          "the progress callback of a call that prepares shapes asks for the same shapes; expected "
          "others, or another thread");
    changed_.wait_for(lock, poll_interval);
    control.cancel.check();
  }
  const Making making(*this, key); // destroyed after the guard below: it takes the lock itself
  lock.unlock();
  auto made = std::make_shared<const MadeVariant>(make());
  const std::lock_guard done(mutex_);
  keep(key, made);
  return made;
}

void Variants::put(const VariantKey& key, MadeVariant made) {
  const std::lock_guard lock(mutex_);
  if (!made_.contains(key)) keep(key, std::make_shared<const MadeVariant>(std::move(made)));
}

MadeVariantPtr Variants::find(const VariantKey& key, bool ahead) {
  const auto found = made_.find(key);
  if (found == made_.end() || (ahead && !found->second.variant->ahead)) return nullptr;
  found->second.used = ++requests_;
  return found->second.variant;
}

bool Variants::pinned(const InputShapes& shapes) const {
  return std::ranges::find(pinned_, shapes) != pinned_.end();
}

void Variants::keep(const VariantKey& key, MadeVariantPtr made) {
  Kept& entry = made_[key];
  if (entry.variant) replaced_.fetch_add(1, std::memory_order_release);
  entry = {std::move(made), ++requests_};
  auto oldest = made_.end();
  std::size_t others = 0;
  for (auto it = made_.begin(); it != made_.end(); ++it) {
    if (pinned(it->first.shapes)) continue;
    ++others;
    if (oldest == made_.end() || it->second.used < oldest->second.used) oldest = it;
  }
  if (others > kept_variants) made_.erase(oldest);
}

MadeVariantPtr Variants::of_shapes(const InputShapes& shapes, int threads) const {
  const std::lock_guard lock(mutex_);
  MadeVariantPtr best;
  const auto rank = [&](const MadeVariant& one) { return std::pair(one.ahead, one.threads == threads); };
  for (const auto& [key, made] : made_)
    if (key.shapes == shapes && (!best || rank(*made.variant) > rank(*best))) best = made.variant;
  return best;
}

std::vector<std::pair<VariantKey, MadeVariantPtr>> Variants::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<VariantKey, MadeVariantPtr>> all;
  for (const auto& [key, made] : made_) all.emplace_back(key, made.variant);
  return all;
}

void Variants::pin(const InputShapes& shapes) {
  const std::lock_guard lock(mutex_);
  if (!pinned(shapes)) pinned_.push_back(shapes);
}

void Variants::remove(const InputShapes& shapes) {
  const std::lock_guard lock(mutex_);
  std::erase(pinned_, shapes);
  std::erase_if(made_, [&](const auto& kept) { return kept.first.shapes == shapes; });
}

} // namespace lanner
