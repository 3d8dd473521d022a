#pragma once
// The steps of a program, and its segments: steps that are queued together.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "program/lowered/lowered.h"
#include "program/schedule.h"
#include "program/subprograms.h"

namespace lanner {

/// One launch of a program.
struct Step {
  const Node* node = nullptr;
  const Kernel* kernel = nullptr;              ///< Null: subprograms, or else the interpreter runs the node.
  const OfferedTactic* offered = nullptr;      ///< The tactic of the kernel; null where there is none.
  const Subprograms* subprograms = nullptr;    ///< For a node without a kernel whose regions run as programs.
  std::uint32_t first_input = 0, inputs = 0;   ///< Range of Program::inputs.
  std::uint32_t first_output = 0, outputs = 0; ///< Range of Program::outputs.
  std::uint64_t workspace = 0;                 ///< Arena offset.
  std::uint64_t host_workspace = 0;            ///< Host arena offset, of subprograms that run on a GPU.
  bool on_stream = false;                      ///< Queues work only; see Kernel.
  int stream = 0; ///< See program/schedule.h; of a program of several devices the number of its device.
  std::uint32_t first_wait = 0, waits = 0; ///< Range of Program::waits: what its stream waits for first.
  std::uint32_t event = 0; ///< Event that others wait for, recorded when it has ended; 0: none.
  std::uint64_t bytes = 0, flops = 0;
};

/// Steps that can be recorded as one CUDA graph, or a single step that is queued alone or runs on the host.
struct Segment {
  std::size_t first = 0, steps = 0;
  bool on_stream = false, recorded = false;
  bool forks = false; ///< Steps wait for event 0, which the first stream reaches when the segment begins.
  std::uint32_t first_wait = 0, waits = 0; ///< Of Program::waits: what the first stream waits for at the end.
  /// For programs of several devices: the stream that it is queued on, the events that it waits for first,
  /// and the event recorded when it has ended; 0: none.
  int stream = 0;
  std::uint32_t first_before = 0, before = 0, event = 0;
};

/// Whether a step may be part of a recorded graph. Others run in stream 0 after all before them have ended.
bool is_recorded(const Step& step);

struct Segments {
  std::vector<Segment> segments;    ///< All steps, in order.
  std::vector<std::uint32_t> waits; ///< Events, see Program::waits.
  int streams = 1;
  std::uint32_t events = 0;
};
/// Splits the list into segments and determines waits: a null `order` means one stream, else it has a barrier
/// after the last step. Sets the steps' events and waits.
Segments make_segments(std::span<Step> steps, const StepOrder* order);
/// The same for steps on several devices: a step that waits for another device begins a segment, and one that
/// another device waits for ends one, as a graph is recorded on one device. The last segment is the end of
/// the run and may have no steps.
Segments make_device_segments(std::span<const Step> steps, const StepOrder& order);

} // namespace lanner
