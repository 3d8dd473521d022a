// Context: overlapping memory of the caller.

#include <cstdlib>
#include <functional>

#include <lanner/error.h>

#include "base/check.h"
#include "device/memory.h"
#include "engine/context/context_state.h"

// Note [Overlapping memory]
// A kernel may write an output before others have read the inputs, so an output that a caller wants in the
// memory of an input is computed in separate memory and copied there at the end of the run. No result is
// right where two outputs are wanted in the same memory, or where a run overwrites an input that overlaps
// another one: these are rejected.

namespace lanner {
namespace {

/// A range of bytes of the host or a GPU; devices have distinct addresses.
struct Bytes {
  const std::byte* begin = nullptr;
  std::uint64_t count = 0;

  bool overlaps(const Bytes& other) const {
    const std::less<const std::byte*> before;
    return count > 0 && other.count > 0 && before(begin, other.begin + other.count) &&
           before(other.begin, begin + count);
  }
};

Bytes bytes_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}

Bytes bytes_of(const Plane& plane) {
  if (!plane.data || plane.height <= 0) return {};
  const auto* first = reinterpret_cast<const std::byte*>(plane.data);
  const std::int64_t pitch = plane.pitch;
  const auto all = static_cast<std::uint64_t>(std::abs(pitch)) * static_cast<std::uint64_t>(plane.height);
  // With a negative pitch the first row is the last in memory.
  return {pitch < 0 ? first + pitch * (plane.height - 1) : first, all};
}

bool any_overlaps(const Item& item, const Bytes& memory) {
  if (item.is_sequence()) {
    for (const Item& element : *item.items)
      if (any_overlaps(element, memory)) return true;
    return false;
  }
  return bytes_of(item.tensor).overlaps(memory);
}

bool any_overlaps(const BoundPictures& pictures, const Bytes& memory) {
  for (const Image& image : pictures.images())
    for (const Plane& plane : image.planes)
      if (bytes_of(plane).overlaps(memory)) return true;
  return false;
}

/// A copy in the same layout on the same device.
Tensor copy_of(const Tensor& tensor, Stream stream) {
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape(), tensor.layout(), tensor.device());
  copy_memory({copy.data(), copy.device()}, {const_cast<void*>(tensor.data()), tensor.device()},
              tensor.bytes(), stream);
  return copy;
}

Item detached(const Item& item, const Bytes& memory, Stream stream) {
  if (!any_overlaps(item, memory)) return item;
  if (!item.is_sequence()) return Item(copy_of(item.tensor, stream));
  Item copy;
  auto elements = std::make_shared<std::vector<Item>>();
  for (const Item& element : *item.items) elements->push_back(detached(element, memory, stream));
  copy.items = std::move(elements);
  return copy;
}

} // namespace

/// See Note [Overlapping memory].
void Context::State::check_written_memory() const {
  for (std::size_t i = 0; i < given.size(); ++i)
    for (std::size_t j = i + 1; j < given.size(); ++j)
      check(!bytes_of(given[i]).overlaps(bytes_of(given[j])), ErrorCode::invalid_argument,
            "outputs {} and {}: the memory bound for them overlaps; give each memory of its own",
            engine->outputs[i].name, engine->outputs[j].name);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const CallerMemory::Alias* alias = engine->callers.alias_of_input(i);
    const bool written_in_place = engine->callers.may_write(i) && bound[i].tensor.device() == device();
    if (!alias && !written_in_place) continue;
    const Bytes written = bytes_of(bound[i].tensor);
    for (std::size_t j = 0; j < bound.size(); ++j)
      check(i == j || !any_overlaps(bound[j], written), ErrorCode::invalid_argument,
            "inputs {} and {}: their memory overlaps, and a run overwrites {}; give each memory of its own",
            engine->inputs[i].name, engine->inputs[j].name, engine->inputs[i].name);
    for (std::size_t j = 0; j < given.size(); ++j)
      check(!bytes_of(given[j]).overlaps(written), ErrorCode::invalid_argument,
            "output {}: the memory bound for it overlaps that of input {}, which a run overwrites; give it "
            "memory of its own",
            engine->outputs[j].name, engine->inputs[i].name);
  }
}

/// Whether kernels that write an output to the caller's memory would overwrite an input.
bool Context::State::overlaps_input(std::size_t output) const {
  if (given[output].device() != device()) return false; // It is copied there after all reads.
  const Bytes memory = bytes_of(given[output]);
  for (std::size_t i = 0; i < bound.size(); ++i)
    if (any_overlaps(bound[i], memory) || (pictures[i] && any_overlaps(*pictures[i], memory))) return true;
  return false;
}

Tensor Context::State::memory_apart(std::size_t output, DType dtype, const Shape& shape) {
  Tensor& memory = apart[output];
  if (!memory.defined() || memory.dtype() != dtype || memory.shape() != shape)
    memory = Tensor::allocate(dtype, shape, engine->callers.output(output).layout, device());
  return memory;
}

/// Copies results that share memory with an input which is about to be overwritten.
void Context::State::separate_items(Stream stream) {
  ReadyShapes& current = now();
  for (const Tensor& memory : given)
    if (memory.defined())
      for (std::size_t i = 0; i < current.results.size(); ++i)
        if (current.is_item(i)) current.results[i] = detached(current.results[i], bytes_of(memory), stream);
}

void Context::State::copy_from_apart(Stream stream) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    Item& result = now().results[i];
    if (!given[i].defined() || !apart[i].defined() || result.tensor.data() != apart[i].data()) continue;
    copy_memory({given[i].data(), given[i].device()}, {apart[i].data(), apart[i].device()}, given[i].bytes(),
                stream);
    result = Item(given[i]);
  }
}

} // namespace lanner
