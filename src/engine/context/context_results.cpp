// Context: outputs.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "base/threads/sole_owner.h"
#include "device/memory.h"
#include "engine/context/context_state.h"
#include "program/weights/packing.h"

namespace lanner {

/// The device of the results: that of the inputs.
Device Context::State::results_device() const {
  const auto on_device = [](Device source) { return !source.is_host(); };
  return keep_results || std::ranges::any_of(sources, on_device) ? device() : Device{};
}

/// Whether kernels write output `i` to the same memory in every run, so that recorded graphs stay valid, and
/// the result is a copy on the device.
bool Context::State::is_kept(std::size_t i) const {
  return keep_results && !given[i].defined() && !results_of_call &&
         now().location_of(i) == ValueLocation::Kind::output && !now().is_item(i) &&
         engine->callers.output(i).layout.row_major() && !state_with(&StatePair::output, i);
}

/// Memory for a kept result that no caller holds.
Tensor Context::State::kept_result(std::size_t i, DType dtype, const Shape& shape) {
  constexpr std::size_t most = 8; // If callers hold more, the oldest are dropped from the pool.
  std::vector<Tensor>& all = keeps[i];
  const auto is_free = [](const Tensor& one) { return sole_owner(one.owner()); };
  const auto found = std::ranges::find_if(
      all, [&](const Tensor& one) { return is_free(one) && one.dtype() == dtype && one.shape() == shape; });
  if (found != all.end()) return *found;
  std::erase_if(all, is_free); // Of other shapes.
  if (all.size() == most) all.erase(all.begin());
  all.push_back(Tensor::allocate(dtype, shape, {}, device()));
  return all.back();
}

std::vector<bool> Context::State::lent() const {
  std::vector<bool> outputs(given.size(), results_of_call);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].defined()) outputs[i] = true;
  for (const StatePair& pair : engine->states) outputs[pair.output] = true;
  for (const CallerMemory::Alias& alias : engine->callers.aliases) outputs[alias.output] = true;
  return outputs;
}

/// The memory that kernels write for output `i`: its result where that is on the device, else staging memory.
void* Context::State::written_memory(std::size_t i) {
  Tensor& result = now().results[i].tensor;
  if (result.device() == device() && !is_kept(i)) return result.data();
  Tensor& written = now().written[i];
  if (!written.defined() || written.shape() != result.shape())
    written = Tensor::allocate(result.dtype(), result.shape(), result.layout(), device());
  return written.data();
}

/// Copies results to the host where wanted there, and kept results on the device.
void Context::State::fetch_results(Stream stream) {
  ReadyShapes& current = now();
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    if (current.is_item(i)) continue;
    Tensor& result = current.results[i].tensor;
    if (result.device() == device() && !is_kept(i)) continue;
    const ValueLocation& location = current.execution->program().results()[i];
    const Tensor& from =
        location.kind == ValueLocation::Kind::input ? current.staged[location.index] : current.written[i];
    copy_memory({result.data(), result.device()}, {const_cast<void*>(from.data()), device()}, result.bytes(),
                stream);
  }
}

/// Chooses memory for each output: the caller's, else the last run's if no caller holds it, else new.
void Context::State::place_results(const CallResources& call) {
  // Memory of a call's allocator must not be reused by other calls.
  if (results_of_call || call.allocator) std::ranges::fill(now().results, Item{});
  results_of_call = call.allocator != nullptr;
  const std::span<const ValueLocation> locations = now().execution->program().results();
  for (std::size_t i = 0; i < locations.size(); ++i) {
    // An output in an input's memory is already there.
    if (locations[i].kind == ValueLocation::Kind::input) now().results[i] = bound[locations[i].index];
    if (locations[i].kind == ValueLocation::Kind::output) place_result(i, call);
    if (locations[i].kind == ValueLocation::Kind::item) now().results[i] = {}; // gets new memory
  }
}

void Context::State::place_result(std::size_t i, const CallResources& call) {
  ReadyShapes& current = now();
  const Type& type = current.execution->program().graph().body().outputs()[i]->type;
  const DType dtype = engine->outputs[i].dtype;
  const Layout& layout = engine->callers.output(i).layout;
  Tensor& result = current.results[i].tensor;
  const Device wanted = results_device();
  if (const auto number = state_with(&StatePair::output, i)) {
    result = {}; // memory of a failed run
    result = kept[*number].next(dtype, type.shape(), layout);
  } else if (given[i].defined()) {
    check_given(i, dtype, type.shape());
    result = overlaps_input(i) ? memory_apart(i, dtype, type.shape()) : given[i];
  } else if (is_kept(i)) {
    result = {};
    result = kept_result(i, dtype, type.shape());
  } else if (!result.defined() || !sole_owner(result.owner()) || result.device() != wanted) {
    const CallScope given_with_it(call);
    result = Tensor::allocate(dtype, type.shape(), layout, wanted);
  }
  current.execution->set_output(i, written_memory(i));
}

bool Context::State::lies_right(std::size_t output, const Tensor& memory) const {
  return lies_as(memory, engine->callers.output(output));
}

void Context::State::check_given(std::size_t i, DType dtype, const Shape& shape) const {
  check(given[i].dtype() == dtype && given[i].shape() == shape, ErrorCode::invalid_argument,
        "output {}: memory for {}{} was bound, the run gives {}{}", engine->outputs[i].name,
        to_string(given[i].dtype()), given[i].shape().to_string(), to_string(dtype), shape.to_string());
}

/// A result of data-dependent size in the caller's storage.
static Item held_item(Item item, const Binding& binding, const HeldStorage& held) {
  if (!item.tensor.defined() || binding.dtype == DType::string || held == HeldStorage{}) return item;
  Storage storage;
  storage.dtype = binding.dtype;
  storage.layout = held.layout;
  return Item(pack(item.tensor, storage));
}

/// Takes results of data-dependent size; copies to the caller's memory where bound.
void Context::State::take_items(Stream stream) {
  ReadyShapes& current = now();
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    if (!current.is_item(i)) continue;
    Item& result = current.results[i];
    const Program& program = current.execution->program();
    const ValueLocation& location = program.results()[i];
    result = location.kind == ValueLocation::Kind::constant ? Item(program.constants()[location.index])
                                                            : current.execution->items()[location.index];
    const HeldStorage& held = engine->callers.output(i);
    const Device wanted = given[i].defined() ? given[i].device() : results_device();
    if (wanted.is_host() || held != HeldStorage{})
      result = current.execution->transfers(stream).on(Device{}, result);
    result = held_item(std::move(result), engine->outputs[i], held);
  }
  separate_items(stream);
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    if (!current.is_item(i) || !given[i].defined()) continue;
    Item& result = current.results[i];
    const Tensor& made = result.tensor;
    check_given(i, made.dtype(), made.shape());
    copy_memory({given[i].data(), given[i].device()}, {const_cast<void*>(made.data()), made.device()},
                made.bytes(), stream);
    result = Item(given[i]);
  }
}

} // namespace lanner
