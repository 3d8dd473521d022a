#pragma once
// Execution of one region of a step, with its values addressed by parameter and output.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/subprograms.h"
#include "run/execution.h"
#include "run/region_step.h"

namespace lanner {

/// Parameters and results are numbered as in the region.
class SubprogramRun {
public:
  SubprogramRun(const Subprogram& subprogram, const Region& region, const Arenas& arenas);

  /// Whether the parameter is plain memory of static size.
  bool takes_memory(std::size_t parameter) const;
  /// Sets such a parameter; the contents must not change until the run's end.
  void give_memory(std::size_t parameter, const void* memory);
  /// Sets any parameter; the operand must not change until the run's end, and is copied where the region
  /// needs it on another device. Throws Error{invalid_argument} where it does not match the parameter's type.
  void give(std::size_t parameter, const StepInput& operand, const Transfers& transfers);
  /// The operand last given for a parameter.
  StepInput given(std::size_t parameter) const { return given_[parameter]; }

  Device device() const { return subprogram_.program->device(); } ///< Of all memory here.
  const SubprogramResult& result(std::size_t k) const { return subprogram_.results[k]; }
  const Type& type(std::size_t k) const { return region_.outputs()[k]->type; }
  /// Whether the program writes result `k` to the caller's memory.
  bool writes_memory(std::size_t k) const;
  /// Sets the memory of such a result; all outputs that are the same value share it.
  void write_to(std::size_t k, void* memory);
  /// Runs; results without memory from the caller get new memory.
  void run(const RunRequest& request);
  /// Result `k` of the last run, valid until the next or clear().
  StepInput value(std::size_t k) const;
  /// Releases items.
  void clear();

private:
  const Subprogram& subprogram_;
  const Region& region_;
  Execution execution_;
  std::vector<StepInput> given_;     ///< By parameter.
  std::vector<Item> held_, written_; ///< By parameter, for those given as items; by computed result.
  std::vector<Item> constants_;
  std::vector<void*> memory_; ///< By computed result.
  std::vector<const Value*> computed_;
};

} // namespace lanner
