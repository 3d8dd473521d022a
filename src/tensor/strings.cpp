#include "tensor/strings.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

namespace lanner {
namespace {

struct Strings {
  explicit Strings(std::uint64_t count)
      : account(current_account()), charge(account, count * sizeof(std::string) + block_overhead),
        elements(static_cast<std::size_t>(std::max<std::uint64_t>(count, 1))) {}
  ~Strings() {
    if (account) account->release(characters);
  }
  Strings(const Strings&) = delete;

  AccountPtr account;
  Charge charge;
  std::atomic<std::uint64_t> characters{0}; ///< Charged bytes; tensors sharing the memory may each update it.
  std::vector<std::string> elements;
};

/// The deleter of a pointer to elements, which leads to their owner.
struct FreeStrings {
  Strings* strings;
  void operator()(void*) const noexcept { delete strings; }
};

std::uint64_t characters_of(std::span<const std::string> elements) {
  std::uint64_t bytes = 0;
  for (const std::string& element : elements) bytes += character_bytes(element.capacity());
  return bytes;
}

} // namespace

std::shared_ptr<void> allocate_strings(std::uint64_t count) {
  auto strings = std::make_unique<Strings>(count);
  const FreeStrings free{strings.get()};
  void* elements = strings.release()->elements.data();
  return std::shared_ptr<void>(elements, free);
}

std::uint64_t characters_of(const Tensor& tensor) {
  return tensor.defined() && tensor.dtype() == DType::string ? characters_of(tensor.as<std::string>()) : 0;
}

void own_characters(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != DType::string) return;
  const FreeStrings* free = std::get_deleter<FreeStrings>(tensor.owner());
  if (!free || !free->strings->account) return;
  Strings& strings = *free->strings;
  const std::uint64_t now = characters_of(strings.elements), before = strings.characters.exchange(now);
  if (now <= before) return strings.account->release(before - now);
  try {
    strings.account->charge(now - before);
  } catch (...) {
    strings.characters.fetch_sub(now - before);
    throw;
  }
}

} // namespace lanner
