#include "lowering/defined_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <lanner/error.h>

#include "backends/movement/copy_box.h"
#include "base/check.h"
#include "graph/storage/within.h"
#include "ops/interpreter/interpreter.h"
#include "program/lowered/lowered.h"
#include "program/program.h"

namespace lanner::test {
namespace {

constexpr std::size_t workspace_bytes = 64;

constexpr std::array faults{
    std::pair{"none", Fault::none},
    std::pair{"wrong value", Fault::wrong_value},
    std::pair{"wrong later", Fault::wrong_later},
    std::pair{"unstable", Fault::unstable},
    std::pair{"unwritten", Fault::unwritten},
    std::pair{"writes behind", Fault::writes_behind},
    std::pair{"writes before", Fault::writes_before},
    std::pair{"writes between", Fault::writes_between},
    std::pair{"spoils padding", Fault::spoils_padding},
    std::pair{"reads output", Fault::reads_output},
    std::pair{"reads workspace", Fault::reads_workspace},
    std::pair{"writes workspace", Fault::writes_workspace},
    std::pair{"reads late", Fault::reads_late},
    std::pair{"runs unrecorded", Fault::runs_unrecorded},
    std::pair{"unrecordable", Fault::unrecordable},
    std::pair{"refuses", Fault::refuses},
    std::pair{"fails", Fault::fails},
    std::pair{"lacks memory", Fault::lacks_memory},
};

Tensor view(const Value& value, const Storage& storage, void* data) {
  return Tensor::wrap(data, storage.dtype.value_or(value.type.dtype()), value.type.shape(), nullptr,
                      storage.layout);
}

DType stored_type(const Value& value, const Storage& storage) {
  return storage.dtype.value_or(value.type.dtype());
}

/// Copies dense row-major elements to the value's memory without touching gaps.
void scatter(const Value& value, const Storage& storage, const Tensor& dense, void* memory) {
  const Shape shape = value.type.shape();
  copy_box(simplified({shape.dims(), dense_strides(shape), memory_strides(storage, shape)}), dense.data(),
           memory, bit_width(dense.dtype()) / 8, 1);
}

/// The elements of a value in its storage, in place or gathered.
Tensor elements_at(const Value& value, const Storage& storage, void* data) {
  if (!storage.within) return view(value, storage, data);
  const Shape shape = value.type.shape();
  Tensor dense = Tensor::allocate(stored_type(value, storage), shape);
  copy_box(simplified({shape.dims(), memory_strides(storage, shape), dense_strides(shape)}), data,
           dense.data(), bit_width(dense.dtype()) / 8, 1);
  return dense;
}

float float_at(const void* memory) {
  float value = 0;
  std::memcpy(&value, memory, sizeof value);
  return value;
}

} // namespace

Fault parse_fault(std::string_view words) {
  for (const auto& [name, fault] : faults)
    if (words == name) return fault;
  fail(ErrorCode::bad_data, "'{}' is not a kernel fault", words);
}

DefinedKernel::DefinedKernel(const Node& node, Tactic tactic, Options options)
    : node_(node), tactic_(std::move(tactic)), options_(std::move(options)) {
  check(!has(Fault::refuses), ErrorCode::unsupported, "this kernel refuses to be prepared");
}

std::size_t DefinedKernel::workspace() const {
  return has(Fault::reads_workspace) || has(Fault::writes_workspace) ? workspace_bytes : 0;
}

void DefinedKernel::launch(const Launch& launch) const {
  if (options_.launches) ++*options_.launches;
  check(!has(Fault::fails), ErrorCode::device, "this kernel fails");
  check(!has(Fault::lacks_memory), ErrorCode::out_of_memory, "this kernel lacks memory");
  Arguments arguments{{launch.inputs.begin(), launch.inputs.end()},
                      {launch.outputs.begin(), launch.outputs.end()},
                      launch.workspace};
  if (!options_.queue || has(Fault::runs_unrecorded)) return compute(arguments);
  std::vector<const void*> pointers(arguments.inputs);
  pointers.insert(pointers.end(), arguments.outputs.begin(), arguments.outputs.end());
  if (options_.between_gpus) pointers.clear();
  options_.queue(launch.stream, pointers, [this, arguments = std::move(arguments)] { compute(arguments); });
}

void DefinedKernel::compute(const Arguments& arguments) const {
  const auto shared = static_cast<std::size_t>(tactic_.in_place);
  const bool overwrites = tactic_.in_place >= 0 && !has(Fault::reads_late);
  check(!tactic_.required_in_place || arguments.inputs[shared] == arguments.outputs[0], ErrorCode::internal,
        "{}: output 0 is not in the memory of input {}", node_.label(), shared);
  ++runs_;
  if (has(Fault::unwritten)) return;
  const float added = garbage(arguments);
  std::vector<Item> inputs(node_.inputs().size());
  if (overwrites) inputs[shared] = read(shared, arguments);
  for (std::size_t i = 0; i < arguments.outputs.size(); ++i) fill(i, 0xFF, arguments);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (node_.input(i) && !(overwrites && i == shared)) inputs[i] = read(i, arguments);
  std::vector<Item> results = run(inputs);
  if (options_.fault != Fault::none) spoil_results(results.at(0).tensor.as<float>().back(), added);
  write(results, arguments);
  spoil_memory(arguments);
}

/// Fills all bytes of an output, padding included.
void DefinedKernel::fill(std::size_t i, unsigned char byte, const Arguments& arguments) const {
  const Value& value = *node_.output(i);
  const Storage& storage = tactic_.outputs[i];
  if (!storage.within) {
    std::memset(arguments.outputs[i], byte, bytes_of_output(i));
    return;
  }
  Tensor dense = Tensor::allocate(stored_type(value, storage), value.type.shape());
  std::memset(dense.data(), byte, dense.bytes());
  scatter(value, storage, dense, arguments.outputs[i]);
}

std::size_t DefinedKernel::bytes_of_output(std::size_t i) const {
  return storage_bytes(*node_.output(i), tactic_.outputs[i]);
}

/// A row-major copy in the value's own type.
Item DefinedKernel::read(std::size_t i, const Arguments& arguments) const {
  const Value& value = *node_.input(i);
  const Tensor stored = elements_at(value, tactic_.inputs[i], const_cast<void*>(arguments.inputs[i]));
  if (tactic_.inputs[i].quantization)
    return ops::reals_of(stored, tactic_.inputs[i], value.type.dtype(), values(arguments));
  Tensor plain = Tensor::allocate(value.type.dtype(), value.type.shape());
  copy_tensor(stored, plain);
  return plain;
}

/// Contents of the values that storages name: constants or inputs.
ops::StoredValues DefinedKernel::values(const Arguments& arguments) const {
  return [this, &arguments](const Value& value) {
    if (value.constant()) return ops::stored_constant(value);
    const auto place =
        static_cast<std::size_t>(std::ranges::find(node_.inputs(), &value) - node_.inputs().begin());
    return view(value, tactic_.inputs.at(place), const_cast<void*>(arguments.inputs[place]));
  };
}

std::vector<Item> DefinedKernel::run(const std::vector<Item>& inputs) const {
  std::vector<const Item*> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) arguments.push_back(node_.input(i) ? &inputs[i] : nullptr);
  return run_node(node_, arguments, {.threads = options_.threads});
}

/// The contents of memory that the kernel has not written.
float DefinedKernel::garbage(const Arguments& arguments) const {
  if (has(Fault::reads_output)) return float_at(arguments.outputs[0]);
  if (has(Fault::reads_workspace)) return float_at(arguments.workspace);
  return 0;
}

void DefinedKernel::spoil_results(float& last, float garbage) const {
  if (has(Fault::wrong_value) || (has(Fault::wrong_later) && runs_ > 1)) last += 1;
  if (has(Fault::unstable) && runs_ % 2 == 0) last = std::nextafter(last, 2 * last + 1);
  last += garbage;
}

void DefinedKernel::write(const std::vector<Item>& results, const Arguments& arguments) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].tensor.defined()) continue; // unused
    fill(i, 0, arguments);
    const Value& value = *node_.output(i);
    const Storage& storage = tactic_.outputs[i];
    Storage whole = storage;
    if (storage.within) whole.layout = {}, whole.within = {};
    Tensor output = storage.within ? Tensor::allocate(stored_type(value, storage), value.type.shape())
                                   : view(value, storage, arguments.outputs[i]);
    ops::store_reals(results[i].tensor, whole, values(arguments), output);
    if (storage.within) scatter(value, storage, output, arguments.outputs[i]);
  }
}

void DefinedKernel::spoil_memory(const Arguments& arguments) const {
  auto* const output = static_cast<std::byte*>(arguments.outputs[0]);
  const std::size_t bytes = bytes_of_output(0);
  const float one = 1;
  if (has(Fault::writes_behind)) output[bytes] = std::byte{1};
  if (has(Fault::writes_before)) *(output - 1) = std::byte{1};
  const Storage& storage = tactic_.outputs[0];
  const MemorySlices slices =
      memory_slices_of(storage, node_.output()->type.shape(), stored_type(*node_.output(), storage));
  if (has(Fault::writes_between) && slices.pitch > 0) output[slices.bytes] = std::byte{1};
  if (has(Fault::spoils_padding)) std::memcpy(output + bytes - sizeof one, &one, sizeof one);
  if (has(Fault::writes_workspace))
    static_cast<std::byte*>(arguments.workspace)[workspace_bytes] = std::byte{1};
}

} // namespace lanner::test
