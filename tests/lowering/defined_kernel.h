#pragma once
// A kernel that computes by the operators' definitions in any storage, optionally with an injected fault.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <lanner/item.h>

#include "graph/backend.h"
#include "ops/definition/stored_reals.h"

namespace lanner::test {

/// Injected faults. They affect output 0, which is f32.
enum class Fault : std::uint8_t {
  none,
  wrong_value,      ///< The last element is wrong.
  wrong_later,      ///< The same, from the second run on.
  unstable,         ///< The last element differs a little from run to run.
  unwritten,        ///< Nothing is written.
  writes_behind,    ///< Writes a byte after output 0.
  writes_before,    ///< Writes a byte before it.
  writes_between,   ///< Writes a byte after its first slice, where it is part of a larger value.
  spoils_padding,   ///< The last element in memory, which has to be padding, is 1.
  reads_output,     ///< Adds the old contents of output 0 to it.
  reads_workspace,  ///< Adds the old contents of the workspace to it.
  writes_workspace, ///< Writes a byte after the workspace.
  reads_late,       ///< Reads the overwritable input after writing outputs.
  runs_unrecorded,  ///< Runs at once instead of being queued.
  unrecordable,     ///< No fault: a recorded launch may not be replayed, and it says so.
  refuses,          ///< It cannot be prepared.
  fails,            ///< It cannot be launched.
  lacks_memory,     ///< The launch fails with out of memory.
};
/// `wrong value` for wrong_value. Throws Error{bad_data}.
Fault parse_fault(std::string_view words);

/// How GPU kernels queue their work on a stream, and which memory it accesses.
using Queue = std::function<void(Stream stream, std::span<const void* const> pointers,
                                 const std::function<void()>& work)>;

/// Reads overwritable inputs first, then fills its outputs with garbage, then reads the rest: wrongly shared
/// memory shows in the results.
class DefinedKernel final : public Kernel {
public:
  struct Options {
    int threads = 1;
    Queue queue; ///< Null: it runs on the host.
    Fault fault = Fault::none;
    std::shared_ptr<std::atomic<int>> launches; ///< Counted here, where given.
    bool between_gpus = false; ///< Copies between GPUs, as the driver does, which cannot be recorded.
  };
  /// `node` must outlive it. Throws Error{unsupported} for Fault::refuses.
  DefinedKernel(const Node& node, Tactic tactic, Options options);

  std::size_t workspace() const override;
  bool on_stream() const override { return options_.queue != nullptr; }
  bool recordable() const override {
    return on_stream() && !has(Fault::unrecordable) && !options_.between_gpus;
  }
  void launch(const Launch& launch) const override;

private:
  struct Arguments {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    void* workspace;
  };

  bool has(Fault fault) const { return options_.fault == fault; }
  void compute(const Arguments& arguments) const;
  void fill(std::size_t i, unsigned char byte, const Arguments& arguments) const;
  std::size_t bytes_of_output(std::size_t i) const;
  Item read(std::size_t i, const Arguments& arguments) const;
  ops::StoredValues values(const Arguments& arguments) const;
  std::vector<Item> run(const std::vector<Item>& inputs) const;
  float garbage(const Arguments& arguments) const;
  void spoil_results(float& last, float garbage) const;
  void write(const std::vector<Item>& results, const Arguments& arguments) const;
  void spoil_memory(const Arguments& arguments) const;

  const Node& node_;
  Tactic tactic_;
  Options options_;
  mutable std::atomic<int> runs_{0};
};

} // namespace lanner::test
