// Context: inputs.

#include <lanner/error.h>

#include "base/check.h"
#include "device/memory.h"
#include "engine/context/context_state.h"
#include "program/weights/packing.h"

namespace lanner {
/// A tensor in the input's layout, on the device that kernels read or on the host; copied where needed.
Tensor Context::State::readable(std::size_t i, const Tensor& tensor) const {
  const HeldStorage& held = engine->callers.input(i);
  const Binding& binding = engine->inputs[i];
  const bool reached = tensor.device().is_host() || tensor.device() == device();
  if (reached && lies_as(tensor, held)) return tensor;
  check(tensor.device().is_host(), ErrorCode::unsupported,
        "input {}: a tensor on {} in layout {} is bound to a context on {}; expected one stored as {} "
        "and on the "
        "context's device or the host",
        binding.name, tensor.device().to_string(), tensor.layout().to_string(), device().to_string(),
        binding.storage);
  const CallerMemory::Alias* alias = engine->callers.alias_of_input(i);
  check(!alias || !alias->required, ErrorCode::invalid_argument,
        "input {}: output {} is to be written to the tensor, whose layout is {}; expected {}", binding.name,
        engine->outputs[alias ? alias->output : 0].name, tensor.layout().to_string(), binding.storage);
  Storage storage;
  storage.layout = held.layout;
  return pack(tensor, storage);
}

void Context::State::bind_tensor(std::size_t i, Tensor value) {
  const Binding& expected = engine->inputs[i];
  if (!expected.image.empty()) check_records(i, value);
  check(value.defined(), ErrorCode::invalid_argument, "input {}: expected a tensor {}, got none",
        expected.name, expected.to_string());
  check(value.dtype() == expected.dtype, ErrorCode::invalid_argument,
        "input {} expected, got {}{}; convert it first", expected.to_string(), to_string(value.dtype()),
        value.shape().to_string());
  if (shapes[i] != value.shape()) engine->check_fits(i, value.shape());
  if (const auto number = state_with(&StatePair::input, i)) return set_state(*number, value);
  sources[i] = value.device();
  pictures[i] = nullptr;
  take_tensor(i, readable(i, value));
}

/// Binds a value to an input.
void Context::State::take_input(std::size_t i, Item value) {
  bound[i] = std::move(value);
  input_changed[i] = true;
}

void Context::State::take_tensor(std::size_t i, Tensor tensor) {
  if (shapes[i] != tensor.shape()) {
    shapes[i] = tensor.shape();
    shapes_changed = true;
  }
  take_input(i, Item(std::move(tensor)));
}

void Context::State::give_inputs(Stream stream) {
  Execution& execution = *now().execution;
  const Program& program = execution.program();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    // Host memory may have changed, so it is copied to a GPU for each run.
    const bool copied =
        !device().is_host() && bound[i].tensor.defined() && bound[i].tensor.device().is_host();
    if (!input_changed[i] && !copied) continue;
    const ValueLocation& item = program.input_items()[i];
    if (item.kind == ValueLocation::Kind::item)
      execution.items()[item.index] = bound[i];
    else
      execution.set_input(i, copied ? on_device(i, stream) : bound[i].tensor.data());
    input_changed[i] = false;
  }
}

const void* Context::State::on_device(std::size_t i, Stream stream) {
  const Tensor& tensor = bound[i].tensor;
  if (pictures[i]) pictures[i]->upload(stream);
  Tensor& staged = now().staged[i];
  if (!staged.defined() || staged.shape() != tensor.shape())
    staged = Tensor::allocate(tensor.dtype(), tensor.shape(), tensor.layout(), device());
  copy_memory({staged.data(), device()}, {const_cast<void*>(tensor.data()), {}}, tensor.bytes(), stream);
  return staged.data();
}

} // namespace lanner
