#pragma once
// Timelines: spans on one clock, for reports and Perfetto.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// One piece of work. Times are seconds since the Trace was made.
struct TraceSpan {
  std::string name;  ///< `decode`, `infer`, `encode`, or a kernel's name.
  std::string track; ///< The track it is drawn on: a thread or a stream.
  double start = 0, end = 0;
  std::int64_t frame = -1; ///< Presentation index, -1 for none.
};

/// Collects spans from any thread, up to a limit; later ones are counted, not stored. Copies share one
/// collection; a default-constructed Trace collects nothing and costs one test.
class Trace {
public:
  Trace() = default;
  static Trace create(std::size_t limit = 1 << 20);

  bool on() const noexcept { return state_ != nullptr; }
  double now() const; ///< Seconds since create().
  void add(TraceSpan span) const;
  std::vector<TraceSpan> spans() const; ///< By start time.
  std::size_t dropped() const;
  /// Chrome's trace event format, which Perfetto opens.
  std::string to_json() const;

private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Records a span from construction to destruction.
class TraceScope {
public:
  TraceScope(const Trace& trace, std::string_view name, std::string_view track, std::int64_t frame = -1)
      : trace_(trace), name_(name), track_(track), frame_(frame), start_(trace.on() ? trace.now() : 0) {}
  ~TraceScope() {
    if (trace_.on()) trace_.add({std::string(name_), std::string(track_), start_, trace_.now(), frame_});
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

private:
  const Trace& trace_;
  std::string_view name_, track_;
  std::int64_t frame_;
  double start_;
};

} // namespace lanner
