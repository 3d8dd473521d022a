#pragma once
// Subprograms: the programs of a lowered node's regions.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "program/loop_values.h"
#include "program/row_blocks.h"
#include "program/weights/weights.h"

namespace lanner {

class Program;

/// Source of an output of a region. Only a computed value is written by a kernel or the interpreter.
struct SubprogramResult {
  enum class From : std::uint8_t { parameter, constant, computed };
  From from = From::computed;
  /// Index of the region's parameter, of Subprogram::constants, or of the program's result. Outputs that are
  /// the same value have the same index.
  std::uint32_t index = 0;
};

/// Sources of the outputs of a region, in order.
std::vector<SubprogramResult> subprogram_results(const Region& region);
/// A region as a graph: its parameters are the inputs, and the values computed for its outputs are the
/// outputs, each once.
std::unique_ptr<Graph> subprogram_graph(const Region& region);

struct Subprogram {
  std::unique_ptr<const Program> program;
  std::vector<SubprogramResult> results; ///< One for each output of the region.
  std::vector<Tensor> constants;
};

/// Subprograms and memory of a step with regions.
struct Subprograms {
  std::vector<Subprogram> list;          ///< One for each region of the node.
  std::optional<LoopValues> loop_values; ///< Of a loop or scan.
  std::optional<RowBlocks> rows;         ///< Of a `row_blocks`.
  std::uint64_t arena = 0;     ///< Offset of the subprograms' arena in the workspace; one runs at a time.
  Device device;               ///< That of the programs: the host, or the target's own.
  std::uint64_t workspace = 0; ///< Bytes there.
  std::uint64_t host_workspace = 0; ///< Additional bytes on the host for another device.

  Subprograms();
  Subprograms(Subprograms&&) noexcept;
  ~Subprograms();
};

/// Whether regions of such nodes can be programs.
bool runs_by_subprograms(const Node& node);

/// Device of the regions of a lowered node, by the storages in them.
Device device_of_subprograms(const Node& node);
/// Whether a node whose regions run on a GPU reads its input `i` on the host to control them.
bool is_control(const Node& node, std::size_t i);

/// Throws as the constructor of Program does, and Error{bad_data} for a node whose regions cannot run as
/// programs.
Subprograms make_subprograms(const Node& node, std::span<const Backend* const> backends, const Target& target,
                             WeightStore& constants);

/// Those of `backends` that run on the host.
std::vector<const Backend*> host_backends(std::span<const Backend* const> backends);

} // namespace lanner
