#pragma once
// A cache of computed values for the process.

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace lanner::cuda {

/// Values by a text key that covers all they depend on. Thread-safe. Keeps `most` of them and evicts the
/// oldest.
template<typename Value>
class Memo {
public:
  explicit Memo(std::size_t most) : max_(most) {}

  std::optional<Value> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }

  void insert(const std::string& key, Value value) {
    std::optional<Value> dropped; // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    if (!entries_.insert_or_assign(key, std::move(value)).second) return;
    order_.push_back(key);
    if (order_.size() <= max_) return;
    const auto oldest = entries_.find(order_.front());
    dropped = std::move(oldest->second);
    entries_.erase(oldest);
    order_.pop_front();
  }

  void forget() {
    std::map<std::string, Value> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(entries_);
    order_.clear();
  }

private:
  std::size_t max_;
  mutable std::mutex mutex_;
  std::map<std::string, Value> entries_;
  std::deque<std::string> order_; ///< Keys, oldest first.
};

} // namespace lanner::cuda
