#include <lanner/trace.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/json.h"

namespace lanner {

struct Trace::State {
  std::size_t limit;
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::vector<TraceSpan> spans;
  std::size_t dropped = 0;
};

Trace Trace::create(std::size_t limit) {
  Trace trace;
  trace.state_ = std::make_shared<State>();
  trace.state_->limit = limit;
  return trace;
}

double Trace::now() const {
  return state_ ? std::chrono::duration<double>(std::chrono::steady_clock::now() - state_->origin).count()
                : 0;
}

void Trace::add(TraceSpan span) const {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->spans.size() < state_->limit)
    state_->spans.push_back(std::move(span));
  else
    ++state_->dropped;
}

std::vector<TraceSpan> Trace::spans() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  std::vector<TraceSpan> sorted = state_->spans;
  std::ranges::stable_sort(sorted, {}, &TraceSpan::start);
  return sorted;
}

std::size_t Trace::dropped() const {
  if (!state_) return 0;
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

std::string Trace::to_json() const {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::map<std::string, int> tracks;
  for (const TraceSpan& span : spans()) {
    const auto [track, fresh] = tracks.emplace(span.track, static_cast<int>(tracks.size()) + 1);
    if (fresh)
      events.push_back({{"ph", "M"},
                        {"pid", 1},
                        {"tid", track->second},
                        {"name", "thread_name"},
                        {"args", {{"name", span.track}}}});
    nlohmann::ordered_json event{{"ph", "X"},
                                 {"pid", 1},
                                 {"tid", track->second},
                                 {"name", span.name},
                                 {"ts", span.start * 1e6},
                                 {"dur", (span.end - span.start) * 1e6}};
    if (span.frame >= 0) event["args"] = {{"frame", span.frame}};
    events.push_back(std::move(event));
  }
  return json_text(nlohmann::ordered_json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

} // namespace lanner
