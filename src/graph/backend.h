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

/// One way of running a node: which kernel with which configuration, and how it wants its values stored. A
/// fresh process with the same backend rebuilds the kernel from node, config and storages alone. Scales and
/// zero points that a storage names as values are inputs of the node.
struct Tactic {
  std::string kernel; ///< `conv`, `gemm`, `elementwise`: name within the backend, shown by explain.
  std::vector<std::byte> config; ///< Opaque to all but the backend; stored in plans and the timing cache.
  std::vector<Storage>
      inputs; ///< One for each input of the node (captures included); ignored for absent ones.
  std::vector<Storage> outputs;
  /// Along which axes the kernel takes a value as a part of a larger one too (Storage::within): it reads
  /// where they lie from `inputs` and `outputs` when it is prepared. Shorter lists: no others.
  std::vector<AxisSet> strided_inputs, strided_outputs;
  int in_place = -1;              ///< Input whose memory output 0 may take over (same bytes), -1 none.
  bool required_in_place = false; ///< The kernel accumulates into that input's memory (convolution + sum).
  double estimate = 0;            ///< Heuristic cost in seconds, used when nothing is timed; lower is better.
  std::optional<DType>
      accumulates; ///< In which sums of products, or of elements, are kept; unset: there are none.
};

/// Tactics, or why there are none. `reason` is one line and may also tell why fewer were offered.
struct TacticList {
  std::vector<Tactic> tactics;
  std::string reason;
};

/// What one launch gets. Pointers are to the first byte of each value in the storage its tactic asked for; an
/// absent input is null. The workspace is aligned to 64 bytes, on a GPU to 256, and is the Context's.
struct Launch {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;
  Stream stream;
  /// Whether work queued before has ended when the kernel starts, whatever it is launched with. Else a kernel
  /// whose library starts it early makes sure of that.
  bool ordered = false;
};

/// A node made ready for a target: immutable, shared by contexts, callable from several threads at once.
class Kernel {
public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace() const { return 0; } ///< Bytes, on the device that the kernel runs on.
  /// Whether launch() only queues work on `launch.stream`, so that the stream may be recorded into a graph.
  /// Pointers are then to device memory; otherwise all values lie on the host and the work is done at return.
  virtual bool on_stream() const { return false; }
  /// Whether a recorded launch may be replayed as long as pointers stay the same. Not so for copies by the
  /// driver: their nodes are tied to allocations, which the caller may give back and get again at the same
  /// address.
  virtual bool recordable() const { return on_stream(); }
  virtual void launch(const Launch& launch) const = 0;
};

/// A source of tactics. Nodes given to a backend have static types (all dims constant) and constants among
/// their inputs are `constant` nodes whose tensor may already lie in the storage a tactic asked for.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Of what its kernels come from, where that is a library of its own: part of what is remembered of them.
  virtual std::string version() const { return {}; }
  /// Where its kernels run. A target's own device comes first in backends_for(); host backends behind it take
  /// what it does not offer.
  virtual DeviceKind device() const { return DeviceKind::cpu; }
  /// Whether a build that may try nothing out may take this kernel: the operators' definitions, the project's
  /// own kernels, and a library's where the project's sweep over tactics (docs/tactics.md) has found its
  /// version right. `strided`: with values within larger ones.
  virtual bool trusts(std::string_view /*kernel*/, bool /*strided*/) const { return false; }
  /// Whether `anchor` extended by `next` (an elementwise node that reads the group's last output) can be one
  /// fused node. `group` holds the nodes so far in order. Asked by fusion only.
  virtual bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const = 0;
  /// Groups around `anchor` that it has kernels for and that do not grow by fuses(): several anchors, values
  /// that others read too, nodes with regions or several outputs. In any order, of `anchor`'s region; what
  /// others read of a group becomes further outputs of its `fused` node. Groups that cannot run as one (a
  /// value read outside before the last node ran) are left out, of the rest tactics() is asked.
  virtual std::vector<std::vector<const Node*>> propose(const Node& /*anchor*/,
                                                        const Target& /*target*/) const {
    return {};
  }
  virtual TacticList tactics(const Node& node, const Target& target) const = 0;
  /// Ways beside those of tactics() that may be faster. Finding them takes long: they are asked for only
  /// while there is time to measure them.
  virtual TacticList more_tactics(const Node& /*node*/, const Target& /*target*/) const { return {}; }
  /// Tactics of which one is that of `node.tactic`, where that is offered: found without a search where the
  /// backend can, so that plans load quickly.
  virtual TacticList named_tactics(const Node& node, const Target& target) const {
    return tactics(node, target);
  }
  /// Ways of running a node whose sizes only the run at hand tells, on plain values: prepare() takes
  /// microseconds for them, but for the first node with these types, attributes and constants of one element,
  /// whatever its sizes. Where elements say how many results there are (ops/movement/movement_rules.h),
  /// output 0 is as large as it can get: the kernel writes what there is, packed, and how many, an i64, to
  /// one output more.
  virtual TacticList late_tactics(const Node& /*node*/, const Target& /*target*/) const { return {}; }
  /// `constants[i]` is input i's tensor where it is a constant, in the tactic's layout and type but in host
  /// memory; else null.
  virtual std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                          std::span<const Tensor* const> constants,
                                          const Target& target) const = 0;
};

} // namespace lanner
