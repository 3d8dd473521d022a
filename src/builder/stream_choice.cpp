#include "builder/stream_choice.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "lower/emit/schedule.h"
#include "lower/measure/interleaved_timing.h"
#include "lower/measure/timing_lock.h"
#include "program/lowered/lowered.h"
#include "run/execution.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;
using ProgramPtr = std::shared_ptr<const Program>;

/// Share of a network's time that more streams have to save, since each costs memory and launches.
constexpr double min_gain = 0.02;

/// Runs programs of one network in the same memory on zeros: values do not affect timings.
class NetworkTrial {
public:
  NetworkTrial(std::span<const ProgramPtr> programs, const Control& control)
      : control_(control), device_(programs.front()->device()), gpu_(cuda::Gpu::get(device_)), stream_(gpu_),
        start_(gpu_, true), stop_(gpu_, true) {
    std::uint64_t arena = 0, host_arena = 0;
    for (const ProgramPtr& program : programs) {
      arena = std::max(arena, program->arena_bytes());
      host_arena = std::max(host_arena, program->host_arena_bytes());
    }
    held_.push_back(allocate_pinned(device_, std::max<std::uint64_t>(host_arena, 64)));
    const Arenas arenas{zeros(arena), static_cast<std::byte*>(held_.front().get())};
    for (const ProgramPtr& program : programs) runs_.emplace_back(program, arenas);
    give_memory(programs.front()->graph());
  }

  /// Average seconds of one run, after recording.
  double timed(std::size_t number, int times) {
    const cuda::Current current(gpu_);
    const cuda::Queueing queueing(device_);
    for (; warm_.at(number) < 3; ++warm_[number]) run(number);
    start_.record(stream_.handle());
    for (int i = 0; i < times; ++i) run(number);
    stop_.record(stream_.handle());
    stop_.synchronize();
    return cuda::Event::seconds(start_, stop_) / times;
  }

private:
  std::byte* zeros(std::uint64_t bytes) {
    const std::uint64_t size = std::max<std::uint64_t>(bytes, 64);
    held_.push_back(allocate_memory(device_, size));
    const cuda::Current current(gpu_);
    cuda::check(cuda::driver().set_bytes(reinterpret_cast<cuda::DevicePointer>(held_.back().get()), 0, size,
                                         stream_.handle()),
                "cuMemsetD8Async");
    return static_cast<std::byte*>(held_.back().get());
  }

  void give_memory(const Graph& graph) {
    warm_.assign(runs_.size(), 0);
    for (std::size_t i = 0; i < graph.body().parameters().size(); ++i) {
      std::byte* memory = zeros(storage_bytes(*graph.body().parameter(i)));
      for (Execution& run : runs_) run.set_input(i, memory);
    }
    for (std::size_t i = 0; i < graph.body().outputs().size(); ++i) {
      std::byte* memory = zeros(storage_bytes(*graph.body().outputs()[i]));
      for (Execution& run : runs_) run.set_output(i, memory);
    }
  }

  void run(std::size_t number) {
    runs_[number].run({.stream = stream_.stream(), .threads = 1, .control = control_});
  }

  const Control& control_;
  Device device_;
  const cuda::Gpu& gpu_;
  std::vector<std::shared_ptr<void>> held_;
  cuda::OwnedStream stream_;
  cuda::Event start_, stop_;
  std::vector<Execution> runs_;
  std::vector<int> warm_; ///< Number of warm-up runs, in which graphs are recorded.
};

/// Whether the graph can run on zeros: not with data-dependent sizes.
bool may_be_tried(const Graph& graph) {
  return std::ranges::all_of(graph.body().nodes(), [](const auto& node) {
    return is_constant(*node) ||
           std::ranges::all_of(node->outputs(), [](const auto& output) { return is_planned(*output); });
  });
}

class Choosing {
public:
  Choosing(ProgramPtr one, const StreamChoice& choice) : choice_(choice), programs_{std::move(one)} {}

  const std::string& note() const { return note_; }

  ProgramPtr run() {
    if (choice_.source_streams > 0) {
      propose(choice_.source_streams);
      return programs_.back();
    }
    const bool tried = choice_.seconds > 0 && may_be_tried(programs_.front()->graph());
    for (int streams = 2; streams <= max_streams; ++streams) {
      const auto plan = propose(streams);
      if (plan && !tried && plan->sure()) return programs_.back();
    }
    return tried && programs_.size() > 1 ? fastest() : programs_.front();
  }

private:
  /// Adds a program over at most `streams` streams, where that may be faster than those so far.
  std::optional<StreamPlan> propose(int streams) {
    auto plan = spread(programs_.front()->graph(), choice_.target, streams);
    if (!plan || plan->at_best > (1 - min_gain) * at_best_) return std::nullopt;
    at_best_ = plan->at_best;
    std::unique_ptr<Graph> graph = programs_.front()->graph().clone();
    set_streams(*graph, *plan);
    auto made = std::make_shared<const Program>(std::move(graph), choice_.backends, choice_.target,
                                                choice_.constants, choice_.callers);
    if (made->streams() < 2) return std::nullopt; // steps that cannot be recorded stay on one stream
    programs_.push_back(std::move(made));
    return plan;
  }

  ProgramPtr fastest() {
    std::filesystem::path lock = choice_.timing_cache;
    if (!lock.empty()) lock += ".timing_lock";
    NetworkTrial trial(programs_, choice_.control);
    std::vector<Runner> runners;
    for (std::size_t p = 0; p < programs_.size(); ++p)
      runners.push_back({[&trial, p](int times) { return trial.timed(p, times); }});
    const TimingLock timing_lock(lock, choice_.control.cancel);
    const std::vector<Timing> timings = time_interleaved(runners, {.limit = choice_.seconds});
    std::size_t best = 0;
    for (std::size_t p = 1; p < timings.size(); ++p) {
      const double most = timings[p].seconds + timings[p].error;
      const bool gains = most < (1 - min_gain) * (timings[0].seconds - timings[0].error);
      if (gains && timings[p].seconds < timings[best].seconds) best = p;
    }
    for (std::size_t p = 0; p < timings.size(); ++p)
      note_ += fmt::format("{}{} stream{}: {:.1f} us{}", p > 0 ? ", " : "", programs_[p]->streams(),
                           p > 0 ? "s" : "", 1e6 * timings[p].seconds, p == best ? " (taken)" : "");
    return programs_[best];
  }

  const StreamChoice& choice_;
  std::vector<ProgramPtr> programs_; ///< The one of one stream first.
  double at_best_ = std::numeric_limits<double>::infinity();
  std::string note_;
};

} // namespace

ChosenStreams choose_streams(std::shared_ptr<const Program> one, const StreamChoice& choice) {
  if (choice.target.device.is_host() || choice.target.deterministic || choice.source_streams == 1 ||
      one->devices().size() > 1) // each has one of its own
    return {std::move(one), {}, 0};
  const auto start = Clock::now();
  ChosenStreams chosen{one, {}, 0};
  try {
    Choosing choosing(std::move(one), choice);
    chosen.program = choosing.run();
    chosen.note = choosing.note();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::limit_exceeded) throw;
    chosen.note = fmt::format("several streams were not tried, one is used: {}", error.message());
  }
  chosen.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return chosen;
}

} // namespace lanner
