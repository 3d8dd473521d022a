#pragma once
// Parallel work on nodes.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/parallel.h"
#include "graph/target.h"
#include "program/lowered/signature.h"

namespace lanner {

/// Number of threads that search for and create kernels: GPU libraries compile some, each on one core.
inline int making_threads(const Target& target) {
  return target.device.is_host() ? 1 : target.threads;
}

/// Calls work(i) for the index of each node, on up to `threads` threads: equal nodes one after the other,
/// since the others reuse the first one's results. With one thread in order.
template<typename Work>
void side_by_side(std::span<const Node* const> nodes, int threads, Work work) {
  if (threads <= 1) {
    for (std::size_t i = 0; i < nodes.size(); ++i) work(i);
    return;
  }
  std::map<std::string, std::vector<std::size_t>> different;
  for (std::size_t i = 0; i < nodes.size(); ++i) different[signature(*nodes[i])].push_back(i);
  std::vector<const std::vector<std::size_t>*> lists;
  for (const auto& [name, list] : different) lists.push_back(&list);
  parallel_each(threads, static_cast<std::int64_t>(lists.size()), [&](std::int64_t n, std::int64_t) {
    for (const std::size_t i : *lists[static_cast<std::size_t>(n)]) work(i);
  });
}

} // namespace lanner
