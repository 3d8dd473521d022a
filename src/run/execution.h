#pragma once
// Executes a Program in one Context: its pointers and the loop over its steps.

#include <memory>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/item.h>

#include "program/program.h"
#include "run/recording.h"
#include "run/region_step.h"
#include "run/streams.h"
#include "run/transfers.h"
#include "run/weight_stream.h"

namespace lanner {

/// Memory blocks of a Context for its runs, each at least as large as requested.
struct Arenas {
  std::byte* device = nullptr;          ///< Scratch memory on the target's device.
  std::byte* host = nullptr;            ///< Scratch memory of the host, for a GPU target.
  std::vector<std::byte*> further = {}; ///< On the Program's other devices, in their order.
  /// On the target's device, for streamed weights; null where `weights` has none.
  std::byte* ring = nullptr;
  std::shared_ptr<const WeightLocations> weights =
      {}; ///< The Program's weights on the device; null: the current ones, with their ring buffer.
};

/// One run of the steps.
struct RunRequest {
  Stream stream;
  int threads = 1;
  const Control& control; ///< Polled between steps and within those that the interpreter runs.
  /// Adds each step's seconds; the run then ends with a synchronisation.
  std::vector<double>* times = nullptr;
  RunMemory* memory = nullptr; ///< Memory of the enclosing run; null: the run has its own.
};

/// Runs a program. Pointers are resolved once; only those into the caller's memory are updated when that
/// changes. Used by one thread at a time.
class Execution {
public:
  Execution(std::shared_ptr<const Program> program, const Arenas& arenas);
  Execution(Execution&&) noexcept;
  ~Execution();

  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }
  /// Memory on the target's device. An input that may be overwritten, or that an output aliases, is written
  /// to.
  void set_input(std::size_t index, const void* memory);
  void set_output(std::size_t index, void* memory);
  /// For values of its runs, on the last run's stream.
  Transfers transfers(Stream stream) { return {stream, memory_}; }
  std::vector<Item>& items() { return items_; }
  const std::vector<Item>& items() const { return items_; }
  /// Memory kept between runs for values of data-dependent size.
  std::uint64_t kept_bytes() const noexcept { return memory_.bytes(); }

  /// Runs or, on a GPU, queues all steps. Throws Error{cancelled}; the next run then starts anew.
  void run(const RunRequest& request);

private:
  struct Patch {
    std::size_t argument; ///< In inputs_ or outputs_.
    std::uint64_t offset;
  };
  /// Sets the pointers of all these arguments.
  void patch(const std::vector<Patch>& readers, const std::vector<Patch>& writers, std::byte* memory);
  void fix_pointers();
  void point_into_ring();
  void make_region_steps();
  void find_last_uses();
  void let_go_of_results();
  void let_go(const Step& step);
  void* resolve(const ValueLocation& location) const;
  std::byte* arena(std::size_t device) const {
    return device == 0 ? arenas_.device : arenas_.further[device - 1];
  }
  void launch(const Step& step, Stream stream, bool ordered) const;
  void queue(const Segment& segment, Stream stream, bool ordered);
  void run_on_host(const RunRequest& request);
  void run_on_gpu(const RunRequest& request);
  void run_on_gpus(const RunRequest& request);
  void run_segment(std::size_t number, const RunRequest& request);
  bool waits(const Step& step) const;
  void run_timed(const RunRequest& request);
  void run_timed_on_gpus(const RunRequest& request);
  void run_step(const Step& step, const RunRequest& request);
  void interpret(const Step& step, const RunRequest& request);
  Item argument(const Step& step, std::size_t i) const;
  std::vector<Item> computed(const Step& step, const RunRequest& request, const Transfers& transfers,
                             std::vector<Tensor>& borrowed) const;
  void give_result(const Step& step, std::size_t i, Item item, const Transfers& transfers);
  void run_regions(const Step& step, const RunRequest& request);
  StepInput operand(const Step& step, std::size_t i);

  std::shared_ptr<const Program> program_;
  Arenas arenas_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<std::vector<Patch>> input_readers_, input_writers_, output_readers_, output_writers_;
  std::vector<Item> items_;
  std::vector<std::vector<std::uint32_t>> last_uses_; ///< By step: items that no later step needs.
  Recording recording_;
  RunMemory memory_;                            ///< For a GPU target, of values of data-dependent size.
  std::unique_ptr<RunStreams> run_streams_;     ///< Null where there is one stream.
  std::unique_ptr<WeightStream> weight_stream_; ///< Null where all weights are on the device.
  std::vector<std::unique_ptr<RegionStep>> region_steps_; ///< By step; null where it has no subprograms.
  std::vector<Item> constant_items_; ///< By constant that is not plain memory, for steps with regions.
  std::vector<StepInput> operands_;  ///< Of the current step with regions.
  std::vector<StepOutput> outlets_;
};

} // namespace lanner
