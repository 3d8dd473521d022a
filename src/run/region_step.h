#pragma once
// Steps whose regions run as subprograms in one Context.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include <lanner/item.h>

#include "graph/graph.h"
#include "program/program.h"
#include "run/transfers.h"

namespace lanner {

struct Arenas;
struct RunRequest;

/// Memory for the values of a step's subprograms.
struct SubprogramMemory {
  std::byte* workspace = nullptr; ///< On the device that they run on.
  std::byte* host = nullptr;      ///< For a device that is not the host.
};

/// A value that a step reads: row-major memory where its size is static, else an item, whose tensors are on
/// the host or on the target's device; neither where it is absent.
struct StepInput {
  const void* memory = nullptr;
  const Item* item = nullptr;
  const Type* type = nullptr; ///< As the node has it.
  Device device = {};         ///< Of the memory.
  bool present() const noexcept { return memory || item; }
};

/// Destination of a value that a step writes.
struct StepOutput {
  void* memory = nullptr;
  Item* item = nullptr;
  const Type* type = nullptr;
  Device device = {}; ///< Of the memory.
};

/// Arenas for the subprograms, one of which runs at a time.
Arenas subprogram_arenas(const Subprograms& subprograms, const SubprogramMemory& memory);

/// Used by one thread at a time.
class RegionStep {
public:
  virtual ~RegionStep() = default;
  /// Inputs and outputs are those of the node, captures included. Throws errors of inner nodes with their
  /// names, Error{invalid_argument} where a value does not have its declared type, and Error{cancelled}
  /// between iterations.
  virtual void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                   const RunRequest& request) = 0;
};

/// For a step with subprograms; `memory` has the sizes that they need and is exclusive to the step while it
/// runs.
std::unique_ptr<RegionStep> make_region_step(const Step& step, const SubprogramMemory& memory);

/// Throws Error{invalid_argument} naming `what` for a tensor that does not match the type, as far as that is
/// known.
void check_fits(const Item& item, const Type& type, std::string_view what);
/// The operand as a tensor that shares its memory; shares ownership of an item's.
Tensor view_of(const StepInput& operand);
/// The operand as an item that may be kept for longer than the step runs.
Item item_of(const StepInput& operand, const Transfers& transfers);
/// Writes `item` to the outlet. Throws Error{invalid_argument} naming `what` where it does not match its
/// type.
void put(const StepOutput& outlet, Item item, std::string_view what, const Transfers& transfers);

} // namespace lanner
