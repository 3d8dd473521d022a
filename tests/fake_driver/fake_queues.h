#pragma once
// Streams, events and recorded graphs of the fake driver. Work is done immediately when queued or, if a test
// selects that, only when somebody waits for it, and then in a seeded random order among all that streams,
// events and graph edges allow: code that relies on any other order fails.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace lanner::fake {

using Work = std::function<void()>;

struct Stream;

struct Function;

/// A node of a graph, with the nodes that it depends on.
struct Recorded {
  Work work;
  double seconds = 0;
  std::vector<std::size_t> behind;
  Function* kernel = nullptr; ///< Null: no kernel that was launched.
};

struct Capture {
  std::vector<Recorded> nodes;
  std::vector<Stream*> streams; ///< The stream that began the recording comes first.
};

/// A point in a stream, or in a recording.
struct Mark {
  bool reached = false;
  double time = 0;
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> last;
};

struct Operation {
  Work work;
  std::shared_ptr<Mark> until; ///< Waits until this is reached; null: no wait.
};

struct Stream {
  int device = 0;
  bool legacy = false;              ///< Default stream.
  std::shared_ptr<Capture> capture; ///< Null where it is not recording.
  std::vector<std::size_t> last;    ///< Nodes that the next one depends on.
  std::deque<Operation> waiting;
  double time = 0; ///< Simulated seconds of the queued work.
};

struct Event {
  int device = 0;
  std::shared_ptr<Mark> mark;
  double time = 0;
};

class Queues {
public:
  static constexpr int success = 0, capture_invalid = 901, unjoined = 904, deadlock = 719;

  /// Defers work from now on; 0: no longer.
  void defer(unsigned seed) {
    run_all();
    const std::lock_guard lock(mutex_);
    deferred_ = seed != 0;
    random_.seed(seed);
  }
  void ignore_waits(bool ignored) { ignored_ = ignored; }
  /// Per kernel, for times between events.
  void set_kernel_seconds(double seconds) { kernel_seconds_ = seconds; }
  double kernel_seconds() const { return kernel_seconds_; }

  void queue(Stream& stream, Work work, double seconds = 0, Function* kernel = nullptr) {
    if (stream.capture) {
      Capture& capture = *stream.capture;
      capture.nodes.push_back({std::move(work), seconds, stream.last, kernel});
      stream.last = {capture.nodes.size() - 1};
      return;
    }
    if (seconds > 0) stream.time += seconds;
    if (!deferred_) return work();
    push(stream, {std::move(work), nullptr});
  }

  void record(Event& event, Stream& stream) {
    event.mark = std::make_shared<Mark>();
    if (stream.capture) {
      event.mark->capture = stream.capture;
      event.mark->last = stream.last;
      return;
    }
    event.mark->time = kernel_seconds_ > 0 ? stream.time : 0;
    event.mark->reached = !deferred_;
    if (deferred_) push(stream, {[mark = event.mark] { mark->reached = true; }, nullptr});
  }

  int wait(Stream& stream, const Event& event) {
    const std::shared_ptr<Mark> mark = event.mark;
    if (!mark) return success;
    if (mark->capture) {
      if (stream.legacy || (stream.capture && stream.capture != mark->capture)) return capture_invalid;
      if (!stream.capture) mark->capture->streams.push_back(&stream);
      stream.capture = mark->capture;
      if (!ignored_) stream.last.insert(stream.last.end(), mark->last.begin(), mark->last.end());
      return success;
    }
    if (stream.capture) return capture_invalid;
    if (ignored_) return success;
    if (kernel_seconds_ > 0) stream.time = std::max(stream.time, mark->time);
    if (deferred_) push(stream, {[] {}, mark});
    return success;
  }

  /// Runs the pending work of a stream, and what it waits for.
  int run(Stream& stream) {
    return run_while([&stream] { return !stream.waiting.empty(); });
  }
  int run(const Event& event) {
    return run_while([mark = event.mark] { return mark && !mark->capture && !mark->reached; });
  }
  int run_all() {
    return run_while([this] { return !busy_.empty(); });
  }

  int begin_capture(Stream& stream) {
    if (stream.legacy || stream.capture) return capture_invalid;
    stream.capture = std::make_shared<Capture>();
    stream.capture->streams = {&stream};
    stream.last.clear();
    return success;
  }

  /// A recording is invalid if a stream's last work was not joined.
  int end_capture(Stream& stream, std::vector<Recorded>& nodes) {
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture || capture->streams.front() != &stream) return capture_invalid;
    std::set<std::size_t> joined;
    std::vector<std::size_t> next = stream.last;
    while (!next.empty()) {
      const std::size_t node = next.back();
      next.pop_back();
      if (!joined.insert(node).second) continue;
      next.insert(next.end(), capture->nodes[node].behind.begin(), capture->nodes[node].behind.end());
    }
    bool all = true;
    for (Stream* each : capture->streams) {
      for (const std::size_t node : each->last) all = all && (ignored_ || joined.contains(node));
      each->capture = nullptr;
      each->last.clear();
    }
    if (!all) return unjoined;
    nodes = std::move(capture->nodes);
    return success;
  }

  void launch(const std::vector<Recorded>& nodes, Stream& stream) {
    double end = stream.time;
    std::vector<double> ends(nodes.size(), end);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const std::size_t before : nodes[n].behind) ends[n] = std::max(ends[n], ends[before]);
      ends[n] += nodes[n].seconds;
      end = std::max(end, ends[n]);
    }
    if (kernel_seconds_ > 0) stream.time = end;
    if (!deferred_)
      for (const Recorded& node : nodes) node.work();
    else
      push(stream, {[this, nodes] { run_in_some_order(nodes); }, nullptr});
  }

private:
  void push(Stream& stream, Operation operation) {
    const std::lock_guard lock(mutex_);
    stream.waiting.push_back(std::move(operation));
    busy_.insert(&stream);
  }

  template<typename Condition>
  int run_while(const Condition& more) {
    const std::lock_guard lock(mutex_);
    while (more()) {
      std::vector<Stream*> ready;
      for (Stream* stream : busy_)
        if (const auto& until = stream->waiting.front().until; !until || until->reached)
          ready.push_back(stream);
      if (ready.empty()) return deadlock;
      Stream& next = *ready[random_() % ready.size()];
      next.waiting.front().work();
      next.waiting.pop_front();
      if (next.waiting.empty()) busy_.erase(&next);
    }
    return success;
  }

  void run_in_some_order(const std::vector<Recorded>& nodes) {
    std::vector<bool> done(nodes.size());
    for (std::size_t left = nodes.size(); left > 0; --left) {
      std::vector<std::size_t> ready;
      for (std::size_t n = 0; n < nodes.size(); ++n)
        if (!done[n] &&
            std::ranges::all_of(nodes[n].behind, [&](std::size_t before) { return done[before]; }))
          ready.push_back(n);
      const std::size_t next = ready[random_() % ready.size()];
      nodes[next].work();
      done[next] = true;
    }
  }

  std::mutex mutex_;
  bool deferred_ = false, ignored_ = false;
  double kernel_seconds_ = 0;
  std::mt19937 random_;
  std::set<Stream*> busy_; ///< Those with pending work.
};

} // namespace lanner::fake
