#pragma once
// Tactics: ways of running a node on a target, offered by backends and chosen by measured cost.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/device.h>
#include <lanner/tensor.h>

#include "graph/graph.h"
#include "graph/op.h"
#include "graph/target.h"
#include "graph/type/axis_set.h"

namespace lanner {

/// One way of running a node: a kernel, its configuration, and the storages of its values. A new process with
/// the same backend rebuilds the kernel from node, config and storages alone. Scales and zero points that a
/// storage refers to as values are inputs of the node.
struct Tactic {
  std::string kernel; ///< `conv`, `gemm`, `elementwise`: name within the backend, shown by explain.
  std::vector<std::byte> config; ///< Opaque to all but the backend; stored in plans and the timing cache.
  std::vector<Storage>
      inputs; ///< One for each input of the node (captures included); ignored for absent ones.
  std::vector<Storage> outputs;
  /// Axes along which the kernel also accepts a value that is a slice of a larger one (Storage::within): it
  /// reads the strides from `inputs` and `outputs` when it is prepared. Missing entries: none.
  std::vector<AxisSet> strided_inputs, strided_outputs;
  int in_place = -1;              ///< Input whose memory output 0 may reuse (same bytes), -1 none.
  bool required_in_place = false; ///< The kernel accumulates into that input's memory (convolution + sum).
  double estimate = 0;            ///< Heuristic cost in seconds, used when nothing is timed; lower is better.
  std::optional<DType> accumulates; ///< Accumulator type of sums of products, or of elements; unset: none.
};

/// Tactics, or why there are none. `reason` is one line and may also say why fewer were offered.
struct TacticList {
  std::vector<Tactic> tactics;
  std::string reason;
};

/// Arguments of one launch. Pointers are to the first byte of each value in the storage its tactic requires;
/// an absent input is null. The workspace is aligned to 64 bytes, on a GPU to 256, and is the Context's.
struct Launch {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;
  Stream stream;
  /// Whether earlier work is complete when the kernel starts, however it is launched. If false, a kernel that
  /// its library may start early must wait for that work itself.
  bool ordered = false;
};

/// A node prepared for a target: immutable, shared by contexts, callable from several threads at once.
class Kernel {
public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace() const { return 0; } ///< Bytes, on the device that the kernel runs on.
  /// Weights in memory of its own, beside the inputs of launches.
  virtual std::vector<std::span<const std::byte>> own_weights() const { return {}; }
  /// Whether launch() only queues work on `launch.stream`, so that the stream may be recorded into a graph.
  /// Pointers are then to device memory; otherwise all values are on the host and the work is done at return.
  virtual bool on_stream() const { return false; }
  /// Whether a recorded launch may be replayed as long as pointers stay the same. False for copies by the
  /// driver: their graph nodes are tied to allocations, and the caller may free one and get another at the
  /// same address.
  virtual bool recordable() const { return on_stream(); }
  virtual void launch(const Launch& launch) const = 0;
};

/// A source of tactics. Nodes passed to a backend have static types (all dims constant), and their constant
/// inputs are `constant` nodes whose tensor may already be in the storage that a tactic requires.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Version of the library that the kernels come from, if any; part of the timing cache's keys.
  virtual std::string version() const { return {}; }
  /// Where its kernels run. A target's own device comes first in backends_for(); host backends after it run
  /// what it does not offer.
  virtual DeviceKind device() const { return DeviceKind::cpu; }
  /// Whether a build without trial runs may use this kernel. True for the operators' definitions, the
  /// project's own kernels, and a library's kernels where the project's sweep over tactics (docs/tactics.md)
  /// has verified its version. `strided`: with values that are slices of larger ones.
  virtual bool trusts(std::string_view /*kernel*/, bool /*strided*/) const { return false; }
  /// Whether the group and `next` (an elementwise node that reads the group's last output) can be one fused
  /// node. `group` holds its nodes in order, the anchor first. Called by fusion only.
  virtual bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const = 0;
  /// Groups around `anchor` that it has kernels for and that fuses() does not build: several anchors, values
  /// with other readers, nodes with regions or several outputs. In any order, from `anchor`'s region; values
  /// of a group with other readers become further outputs of its `fused` node. Groups that cannot run as one
  /// (a value read outside before the last node ran) are dropped; for the rest tactics() is called.
  virtual std::vector<std::vector<const Node*>> propose(const Node& /*anchor*/,
                                                        const Target& /*target*/) const {
    return {};
  }
  virtual TacticList tactics(const Node& node, const Target& target) const = 0;
  /// Further tactics, which may be faster than those of tactics(). Finding them takes long: called only while
  /// there is time to measure them.
  virtual TacticList more_tactics(const Node& /*node*/, const Target& /*target*/) const { return {}; }
  /// Tactics that include `node.tactic`, where that is offered: found without a search where the backend can,
  /// so that plans load quickly.
  virtual TacticList named_tactics(const Node& node, const Target& target) const {
    return tactics(node, target);
  }
  /// Tactics for a node whose sizes are known only during the run, for row-major values. Their prepare() must
  /// take microseconds at any size, except the first time for given types, attributes and one-element
  /// constants. Where element values decide the number of results (ops/movement/movement_rules.h), output 0
  /// has the largest possible size: the kernel writes the results, packed, and their number, an i64, to one
  /// additional output.
  virtual TacticList late_tactics(const Node& /*node*/, const Target& /*target*/) const { return {}; }
  /// `constants[i]` is input i's tensor where it is a constant, in the tactic's layout and type but in host
  /// memory; else null.
  virtual std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                          std::span<const Tensor* const> constants,
                                          const Target& target) const = 0;
};

} // namespace lanner
