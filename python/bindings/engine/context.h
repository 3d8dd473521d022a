#pragma once
// Shared by engines and contexts: runs on a dict of inputs.

#include <atomic>

#include <lanner/engine.h>

#include "calls/bindings.h"

namespace lanner::python {

/// A Python context: keeps its engine alive and rejects a second thread.
class PyContext {
public:
  PyContext(const Engine& engine, const ContextOptions& options);

  nb::dict run(nb::handle inputs, nb::handle outputs, nb::handle stream, nb::handle executor,
               nb::handle allocator, const nb::kwargs& others);
  nb::dict enqueue(nb::handle inputs, nb::handle stream, nb::handle outputs, nb::handle executor,
                   nb::handle allocator, const nb::kwargs& others);
  nb::list profile() const;
  void unbind();
  void reset_states();
  nb::object state(nb::handle input) const;
  std::uint64_t arena_bytes() const;
  int threads() const { return context_.threads(); }
  const Engine& engine() const { return engine_; }

private:
  void bind(const nb::dict& inputs, const nb::dict& outputs, std::uintptr_t stream);

  Engine engine_;
  Context context_;
  mutable std::atomic<bool> busy_{false};
};

/// The dict of a call's inputs; TypeError for other keywords.
nb::dict to_inputs(const Engine& engine, nb::handle inputs, const nb::kwargs& others);
/// A CUstream from an integer handle; 0 is the default stream.
std::uintptr_t to_stream(nb::handle stream);
/// Binds tensors, images, frames, and lists or tuples of the latter two, for a run on this stream.
void bind_inputs(Context& context, const Engine& engine, const nb::dict& inputs, std::uintptr_t stream);
/// Runs to completion, without the GIL.
void run(Context& context, std::uintptr_t stream, const RunResources& resources = {});
nb::dict outputs_of(const Context& context, const Engine& engine);

} // namespace lanner::python
