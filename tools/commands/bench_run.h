#pragma once
// Runs of an engine, timed one by one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "input/json_parser.h"

namespace lanner::tool {

/// Bounds of warm-up and measurement: at least this many runs and this many seconds.
struct BenchLimits {
  std::size_t warmup_runs = 0, runs = 0;
  double warmup_seconds = 0, seconds = 0;
  bool device_inputs = false; ///< Inputs and results are in the memory of the engine's GPU.
};

/// Values of inputs by name; the others are random.
using GivenInputs = std::map<std::string, Tensor>;

/// In seconds, of runs of the whole batch.
struct Latency {
  double mean = 0, min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
};

/// Of these times, in seconds.
Latency latency_of(std::vector<double> times);
Json latency_json(const Latency& latency);

/// Where the time of a run on a GPU goes: means, in seconds.
struct DeviceTimes {
  double enqueue = 0; ///< Time of the host until the run is queued.
  double compute = 0; ///< From the first kernel to the last, inputs and results on the GPU.
  double copies = 0;  ///< How much longer a run takes with inputs and results on the host.
};

struct Measured {
  int batch = 1;
  Latency latency;
  std::optional<DeviceTimes> device; ///< For an engine on a GPU.
  std::size_t runs = 0, warmup_runs = 0;
  double seconds = 0, warmup_seconds = 0;
  std::vector<StepProfile> profile; ///< From separate runs, as timing steps slows a run down.
  std::uint64_t arena_bytes = 0;
  double items_per_second() const { return seconds > 0 ? static_cast<double>(runs) * batch / seconds : 0; }
};

/// Shapes that inputs are bound with, by name.
using BenchShapes = std::map<std::string, Shape>;
/// Throws Error{invalid_argument} for a name that is no input, or one that takes images.
void check_given(const GivenInputs& given, const Engine& engine);

/// Throws Error{unsupported} for inputs that no values can be generated for.
Measured measure(const Engine& engine, const GivenInputs& given, const BenchShapes& shapes, int batch,
                 const BenchLimits& limits);

} // namespace lanner::tool
