#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <new>

namespace lanner {
namespace {

std::uintptr_t rounded_up(std::uintptr_t address) {
  return (address + huge_page - 1) / huge_page * huge_page;
}

} // namespace

void prefer_huge_pages(void* block, std::size_t bytes) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = rounded_up(address), end = (address + bytes) / huge_page * huge_page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

std::shared_ptr<std::byte> map_huge_pages(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page) return nullptr;
  const std::size_t size = rounded_up(bytes), mapped = size + huge_page;
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before =
      rounded_up(reinterpret_cast<std::uintptr_t>(begin)) - reinterpret_cast<std::uintptr_t>(begin);
  std::byte* const first = begin + before;
  if (before > 0) ::munmap(begin, before);
  if (before < huge_page) ::munmap(first + size, huge_page - before);
  ::madvise(first, size, MADV_HUGEPAGE);
  try {
    return {first, [size](std::byte* block) noexcept { ::munmap(block, size); }};
  } catch (const std::bad_alloc&) { // The deleter was called.
    return nullptr;
  }
}

} // namespace lanner
