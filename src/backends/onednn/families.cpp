#include "backends/onednn/families.h"

#include "backends/onednn/library.h"

namespace lanner::onednn {

#define LANNER_ONEDNN_FAMILY(name) extern const KernelFamily name##_family;
#include "backends/families.inc"

std::span<const KernelFamily> families() {
  static const KernelFamily all[] = {
#define LANNER_ONEDNN_FAMILY(name) name##_family,
#include "backends/families.inc"
  };
  return all;
}

std::vector<Layout> activation_layouts(std::size_t rank) {
  if (rank < 3) return {Layout{}};
  return {Layout::channels_last(rank), Layout::channels_blocked(rank, has_avx512() ? 16 : 8), Layout{}};
}

} // namespace lanner::onednn
