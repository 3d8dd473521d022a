#pragma once
// A lowered graph made ready to run: kernels, memory locations, list of steps.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "program/lowered/lowered.h"
#include "program/memory/caller_memory.h"
#include "program/memory/memory.h"
#include "program/segments.h"
#include "program/subprograms.h"
#include "program/weights/weights.h"

namespace lanner {

/// Location of a value's first byte. Arena, input and output pointers are a Context's; constants are in
/// Program::weights(). Inputs and outputs are on the target's device.
struct ValueLocation {
  enum class Kind : std::uint8_t {
    none,
    arena,      ///< Scratch memory of a device.
    host_arena, ///< Scratch memory of the host, for a GPU target.
    constant,
    input,
    output,
    item,
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;  ///< Index of the constant, input, output or item, or of the arena's device.
  std::uint64_t offset = 0; ///< Bytes from there.
};

/// Immutable except for the memory of its weights; shared by contexts.
class Program {
public:
  /// Creates every kernel and places every value; constants go to their device by `constants`. Throws
  /// Error{unsupported} where the graph needs a kernel that no backend offers here, and Error{bad_data} where
  /// it contradicts itself. `bound`, where there is one, is of the same network and larger shapes: the arena
  /// is then no larger than that program's if possible, see plan_arena_within().
  Program(std::unique_ptr<Graph> lowered, std::span<const Backend* const> backends, const Target& target,
          WeightStore& constants, const CallerMemory& callers = {}, const Program* bound = nullptr);

  const Graph& graph() const noexcept { return *graph_; }
  Device device() const noexcept { return devices_.front(); }
  /// The target's device; if steps run on several GPUs, all devices of the target: a step's stream is then
  /// its device's index, and each segment runs on one device.
  std::span<const Device> devices() const noexcept { return devices_; }
  const Target& target() const noexcept { return target_; }
  std::span<const Backend* const> backends() const noexcept { return backends_; }
  std::span<const Step> steps() const noexcept { return steps_; }
  std::span<const Segment> segments() const noexcept { return segments_; } ///< All steps, in order.
  /// Number of streams that steps of recorded segments use; others run in stream 0, after all before have
  /// ended. One where there are several devices.
  int streams() const noexcept { return streams_; }
  std::span<const std::uint32_t> waits() const noexcept { return waits_; } ///< Events.
  /// Number of events, including one for each segment's start.
  std::uint32_t events() const noexcept { return events_; }
  std::span<const ValueLocation> inputs() const noexcept { return inputs_; } ///< Of all steps, in order.
  std::span<const ValueLocation> outputs() const noexcept { return outputs_; }
  /// In the layout that kernels read, in host memory.
  std::span<const Tensor> constants() const noexcept { return constants_; }
  /// The constants on the devices that read them: the first call copies them, and throws what
  /// DeviceWeights::add() does; locations change with the weight budget. Thread-safe.
  std::shared_ptr<const WeightLocations> weights() const;
  std::span<const ValueLocation> results() const noexcept {
    return results_;
  } ///< Of the graph's outputs: `output` or `item`, or the `input` whose memory one uses.
  std::uint32_t items() const noexcept { return items_; }
  std::uint64_t arena_bytes(std::size_t device) const noexcept { return arenas_[device].plan.bytes; }
  /// Sum over all devices, without the host where the target is a GPU.
  std::uint64_t arena_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const ArenaLayout& arena : arenas_) bytes += arena.plan.bytes;
    return bytes;
  }
  /// Whether a step runs on the host: otherwise the target's number of threads has no effect.
  bool on_host() const noexcept;
  std::uint64_t host_arena_bytes() const noexcept { return host_arena_bytes_; }
  /// Items of graph inputs that are not plain memory; `none` for those that are.
  std::span<const ValueLocation> input_items() const noexcept { return input_items_; }

private:
  class Builder;
  std::unique_ptr<Graph> graph_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<const OfferedTactic>> offered_;
  std::vector<std::unique_ptr<const Subprograms>> subprograms_;
  std::vector<Tensor> constants_;
  std::shared_ptr<DeviceWeights> table_;
  mutable std::once_flag placed_;
  mutable std::shared_ptr<const ProgramWeights> weights_; ///< Null before the first call of weights().
  std::vector<Step> steps_;
  std::vector<ValueLocation> inputs_, outputs_, results_, input_items_;
  std::uint32_t items_ = 0;
  std::vector<Device> devices_;
  const Target target_;
  const std::vector<const Backend*> backends_;
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> waits_;
  int streams_ = 1;
  std::uint32_t events_ = 0;
  std::vector<ArenaLayout> arenas_; ///< By device.
  std::uint64_t host_arena_bytes_ = 0;
};

} // namespace lanner
