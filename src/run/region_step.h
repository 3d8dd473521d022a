#pragma once
// A step whose regions run as programs of their own, in one Context.

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

/// Where the subprograms of a step keep their values.
struct SubprogramMemory {
  std::byte* workspace = nullptr; ///< On the device that they run on.
  std::byte* host = nullptr;      ///< For a device that is not the host.
};

/// A value that a step reads: memory in row-major order where its size is known before running, else an item,
/// whose tensors lie on the host or on the target's device; neither where it is absent.
struct StepInput {
  const void* memory = nullptr;
  const Item* item = nullptr;
  const Type* type = nullptr; ///< As the node has it.
  Device device = {};         ///< Of the memory.
  bool present() const noexcept { return memory || item; }
};

/// Where a step puts a value.
struct StepOutput {
  void* memory = nullptr;
  Item* item = nullptr;
  const Type* type = nullptr;
  Device device = {}; ///< Of the memory.
};

/// Of the subprograms alone, one of which runs at a time.
Arenas subprogram_arenas(const Subprograms& subprograms, const SubprogramMemory& memory);

/// Used by one thread at a time.
class RegionStep {
public:
  virtual ~RegionStep() = default;
  /// Operands and outlets are those of the node, captures included. Throws what a node within throws, with
  /// its name, Error{invalid_argument} where a value is not of the type that was declared, and
  /// Error{cancelled} between iterations.
  virtual void run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                   const RunRequest& request) = 0;
};

/// For a step that has subprograms; the memory is as large as they ask and the step's alone while it runs.
std::unique_ptr<RegionStep> make_region_step(const Step& step, const SubprogramMemory& memory);

/// Error{invalid_argument} naming `what` for a tensor that is not of the type, as far as that says.
void check_fits(const Item& item, const Type& type, std::string_view what);
/// The operand as a tensor that shares its memory; it holds what an item holds.
Tensor view_of(const StepInput& operand);
/// The operand as an item that may be kept for longer than the step runs.
Item item_of(const StepInput& operand, const Transfers& transfers);
/// Puts `item` where the outlet says. Error{invalid_argument} naming `what` where it is not of its type.
void put(const StepOutput& outlet, Item item, std::string_view what, const Transfers& transfers);

} // namespace lanner
