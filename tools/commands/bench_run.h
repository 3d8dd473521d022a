#pragma once
// Runs of an engine, measured one by one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

namespace lanner::tool {

/// When warming up and measuring end: after so many runs and so many seconds, both.
struct BenchLimits {
  std::size_t warmup_runs = 0, runs = 0;
  double warmup_seconds = 0, seconds = 0;
  bool device_inputs = false; ///< Inputs lie on the engine's GPU, and results stay there.
};

/// Values of inputs by name; what is not there is drawn at random.
using GivenInputs = std::map<std::string, Tensor>;

/// Of runs of the whole batch, in seconds.
struct Latency {
  double mean = 0, min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
};

/// Where the time of a run on a GPU goes: means, in seconds.
struct DeviceTimes {
  double enqueue = 0; ///< Until the call has queued the run: of the host.
  double compute = 0; ///< From the first kernel to the last, inputs and results on the GPU.
  double copies = 0;  ///< What a run takes longer whose inputs and results are on the host.
};

struct Measured {
  int batch = 1;
  Latency latency;
  std::optional<DeviceTimes> device; ///< Of an engine on a GPU.
  std::size_t runs = 0, warmup_runs = 0;
  double seconds = 0, warmup_seconds = 0;
  std::vector<StepProfile> profile; ///< Of runs of their own: to measure steps takes time.
  std::uint64_t arena_bytes = 0;
  double items_per_second() const { return seconds > 0 ? static_cast<double>(runs) * batch / seconds : 0; }
};

/// Shapes that inputs are bound with, by name.
using BenchShapes = std::map<std::string, Shape>;
/// Throws Error{invalid_argument} for a name that is no input, or one that takes pictures.
void check_given(const GivenInputs& given, const Engine& engine);

/// Throws Error{unsupported} for inputs that no values can be made for.
Measured measure(const Engine& engine, const GivenInputs& given, const BenchShapes& shapes, int batch,
                 const BenchLimits& limits);

} // namespace lanner::tool
