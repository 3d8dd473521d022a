#include "backends/cuda/row_parameters.h"

#include <algorithm>

namespace lanner::cuda {

void add_axis(RowParameters& p, bool inner, const RowAxis& axis) {
  int& axes = inner ? p.inner : p.kept;
  auto* const sizes = inner ? p.inner_sizes : p.kept_sizes;
  auto* const source = inner ? p.inner_source : p.kept_source;
  auto* const target = inner ? p.inner_target : p.kept_target;
  (inner ? p.length : p.rows) *= axis.size;
  if (axis.size == 1) return;
  const int last = axes - 1;
  if (axes > 0 && source[last] == axis.size * axis.source && target[last] == axis.size * axis.target) {
    sizes[last] *= axis.size;
    source[last] = axis.source;
    target[last] = axis.target;
    return;
  }
  sizes[axes] = axis.size;
  source[axes] = axis.source;
  target[axes] = axis.target;
  ++axes;
}

Grid row_grid(const Gpu& gpu, const RowParameters& p) {
  unsigned threads = 32;
  while (threads < 1024 && threads * 4 <= p.length) threads *= 2;
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
  return {static_cast<unsigned>(std::min(p.rows, most)), threads, 0};
}

} // namespace lanner::cuda
