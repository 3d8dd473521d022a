#pragma once
// Huge pages for large blocks of host memory. With pages of 4 KiB a processor misses its address translation
// twice for each kilobyte of weights that it streams, which costs a third of the memory's bandwidth in a
// virtual machine.

#include <cstddef>
#include <memory>

namespace lanner {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Asks the system for huge pages in the part of the block that whole ones cover. They take no more memory
/// than the block does.
void prefer_huge_pages(void* block, std::size_t bytes) noexcept;

/// Zeroed memory that begins at a huge page and ends with one; null where the system refuses it.
std::shared_ptr<std::byte> map_huge_pages(std::size_t bytes) noexcept;

} // namespace lanner
