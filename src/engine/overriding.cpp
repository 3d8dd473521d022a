#include "engine/overriding.h"

#include <chrono>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/check.h"
#include "base/hash.h"

namespace lanner {

/// Number of engines kept.
constexpr std::size_t most_engines = 4;

namespace {

/// Setting a cancel token wakes nobody, so waiters poll it.
constexpr std::chrono::milliseconds poll_interval{10};

std::string digest_of(ByteSource& source) {
  constexpr std::size_t piece = 1 << 20;
  std::vector<std::byte> bytes(piece);
  Hasher hasher;
  for (std::uint64_t at = 0;;) {
    const std::size_t count = source.read_at(at, bytes);
    if (count == 0) return hasher.hex();
    hasher.update(std::span(bytes).first(count));
    at += count;
  }
}

} // namespace

Overriding::Overriding(SourcePtr model, const BuildOptions& options, std::filesystem::path folder)
    : model_(std::move(model)), options_(options), folder_(std::move(folder)), digest_(digest_of(*model_)) {
  // Progress and cancellation of the first build do not apply to later ones.
  options_.control = {};
  options_.on_data_file = {};
  options_.trace_passes.clear();
}

/// Marks the calling thread as the one that builds, for its lifetime.
class Overriding::Building {
public:
  /// The owner's lock must be held.
  explicit Building(const Overriding& owner) : owner_(owner) {
    owner_.building_ = std::this_thread::get_id();
  }
  Building(const Building&) = delete;
  ~Building() {
    {
      const std::lock_guard lock(owner_.mutex_);
      owner_.building_.reset();
    }
    owner_.changed_.notify_all();
  }

private:
  const Overriding& owner_;
};

Engine Overriding::with(const std::set<std::string>& names, const Control& control) const {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto found = engines_.find(names); found != engines_.end()) return found->second;
    if (!building_) break;
    check(
        *building_ != std::this_thread::get_id(), ErrorCode::invalid_argument,
        "the progress callback of a run that overrides initialisers overrides {}, for which an engine has to "
        "be built; expected another thread",
        fmt::join(names, ", "));
    changed_.wait_for(lock, poll_interval);
    control.cancel.check();
  }
  const Building building(*this); // destroyed after the guard below: it takes the lock itself
  lock.unlock();
  Engine engine = built(names, control);
  const std::lock_guard done(mutex_);
  if (engines_.size() == most_engines) engines_.erase(engines_.begin());
  return engines_.emplace(names, std::move(engine)).first->second;
}

Engine Overriding::built(const std::set<std::string>& names, const Control& control) const {
  check(digest_of(*model_) == digest_, ErrorCode::invalid_argument,
        "{}: the file has changed since the engine was built, and to override {} it has to be read again; "
        "build the engine anew, with overridden",
        model_->name(), fmt::join(names, ", "));
  log_message(
      LogLevel::info,
      fmt::format("{}: a run gives {}: a second engine is built, which has it as an input; built with "
                  "overridden the first one has",
                  model_->name(), fmt::join(names, ", ")));
  BuildOptions options = options_;
  options.overridden.insert(options.overridden.end(), names.begin(), names.end());
  options.control = control;
  return Engine::build(model_, options, folder_);
}

} // namespace lanner
