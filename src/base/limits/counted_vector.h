#pragma once
// Working lists whose length an input file decides and that are not part of a tensor.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "base/limits/account.h"

namespace lanner {

/// Charges allocations to the account that the thread had when the list was made, before the memory is
/// allocated. Throws Error{limit_exceeded}.
template<typename T>
class CountedAllocator {
public:
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  CountedAllocator() : account_(current_account()) {}
  template<typename Other>
  CountedAllocator(const CountedAllocator<Other>& other) noexcept : account_(other.account()) {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    Charge charge(account_, count * sizeof(T));
    T* memory = std::allocator<T>().allocate(count);
    charge.leave();
    return memory;
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    std::allocator<T>().deallocate(memory, count);
    if (account_) account_->release(count * sizeof(T));
  }
  const AccountPtr& account() const noexcept { return account_; }
  friend bool operator==(const CountedAllocator& a, const CountedAllocator& b) noexcept {
    return a.account_ == b.account_;
  }

private:
  AccountPtr account_;
};

/// A std::vector counted for `total_bytes`: for lists whose length is that of an attribute, a dim or an
/// element of a file. Use reserve() or the constructor where the length is known: a vector that grows holds
/// its old elements and twice as many new ones at a time, and both count.
template<typename T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

} // namespace lanner
