#include "program/memory/caller_memory.h"

#include <algorithm>

#include "backends/storage_layout.h"

namespace lanner {
namespace {

const HeldStorage row_major;

const HeldStorage& at(const std::vector<HeldStorage>& list, std::size_t number) {
  return number < list.size() ? list[number] : row_major;
}

template<typename Member>
const CallerMemory::Alias* alias_with(const std::vector<CallerMemory::Alias>& list, Member member,
                                      std::size_t number) {
  const auto found = std::ranges::find(list, number, member);
  return found == list.end() ? nullptr : &*found;
}

} // namespace

const HeldStorage& CallerMemory::input(std::size_t number) const {
  return at(inputs, number);
}

const HeldStorage& CallerMemory::output(std::size_t number) const {
  return at(outputs, number);
}

const CallerMemory::Alias* CallerMemory::alias_of_output(std::size_t output) const {
  return alias_with(aliases, &Alias::output, output);
}

const CallerMemory::Alias* CallerMemory::alias_of_input(std::size_t input) const {
  return alias_with(aliases, &Alias::input, input);
}

Storage storage_of(const HeldStorage& held, const Type& type, Device device) {
  Storage storage;
  if (held.dtype && *held.dtype != type.dtype()) storage.dtype = held.dtype;
  storage.layout = canonical(held.layout, type.shape());
  storage.device = device;
  return storage;
}

bool lies_as(const Tensor& tensor, const HeldStorage& held) {
  return canonical(tensor.layout(), tensor.shape()) == canonical(held.layout, tensor.shape());
}

HeldStorage settled(const HeldStorage& held, const Storage& storage) {
  return held.any ? HeldStorage{.dtype = held.dtype, .layout = storage.layout} : held;
}

Storage settled_storage(const HeldStorage& held, const Storage& storage, const Type& type, Device device) {
  return storage_of(settled(held, storage), type, device);
}

} // namespace lanner
