#pragma once
// One region of a step as an Execution, with its values told by parameter and output.

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
  SubprogramRun(const Body& body, const Region& region, const Arenas& arenas);

  /// Whether the parameter is plain memory of a size known before running.
  bool takes_memory(std::size_t parameter) const;
  /// Of such a parameter; what lies there must stay until the run's end.
  void give_memory(std::size_t parameter, const void* memory);
  /// Any parameter; what lies in the operand must stay until the run's end, and is copied where it lies on
  /// another device than memory that the region takes. Error{invalid_argument} where it is not of the
  /// parameter's type.
  void give(std::size_t parameter, const StepInput& operand, const Transfers& transfers);
  /// A parameter as it was given last.
  StepInput given(std::size_t parameter) const { return given_[parameter]; }

  Device device() const { return body_.program->device(); } ///< Of all memory here.
  const SubprogramResult& result(std::size_t k) const { return body_.results[k]; }
  const Type& type(std::size_t k) const { return region_.outputs()[k]->type; }
  /// Whether the program writes result `k` to memory that it is given.
  bool writes_memory(std::size_t k) const;
  /// For such a result; all outputs that are the same value share it.
  void write_to(std::size_t k, void* memory);
  /// Runs; results that nobody gave memory take new memory.
  void run(const RunRequest& request);
  /// Result `k` of the last run, valid until the next or clear().
  StepInput value(std::size_t k) const;
  /// Lets go of items.
  void clear();

private:
  const Body& body_;
  const Region& region_;
  Execution execution_;
  std::vector<StepInput> given_;     ///< By parameter.
  std::vector<Item> held_, written_; ///< By parameter, for those given as items; by computed result.
  std::vector<Item> constants_;
  std::vector<void*> memory_; ///< By computed result.
  std::vector<const Value*> computed_;
};

} // namespace lanner
