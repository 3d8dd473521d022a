#pragma once
// What engines and contexts share: a run on a dict of inputs.

#include <atomic>

#include <lanner/engine.h>

#include "calls/bindings.h"

namespace lanner::python {

/// A context as Python has it: it knows its engine, and refuses a second thread.
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

/// What a call was given: the dict of its inputs, and nothing by other keywords.
nb::dict to_inputs(const Engine& engine, nb::handle inputs, const nb::kwargs& others);
/// A CUstream as Python's frameworks give it: a number, 0 for the default stream.
std::uintptr_t to_stream(nb::handle stream);
/// Binds tensors, images, frames, and lists or tuples of the latter two, for a run on this stream.
void bind_inputs(Context& context, const Engine& engine, const nb::dict& inputs, std::uintptr_t stream);
/// Runs to completion, without the GIL.
void run(Context& context, std::uintptr_t stream, const RunResources& resources = {});
nb::dict outputs_of(const Context& context, const Engine& engine);

} // namespace lanner::python
