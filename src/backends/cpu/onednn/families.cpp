#include "backends/cpu/onednn/families.h"

#include <algorithm>
#include <array>

#include "backends/cpu/onednn/library.h"

namespace lanner::onednn {

std::span<const KernelFamily> families() {
  static const std::array all = {
      conv_family,
      conv_transpose_family,
      matmul_family,
      inner_product_family,
      pool_family,
      softmax_family,
      layer_normalization_family,
      batch_normalization_family,
      lrn_family,
      resize_family,
      reduce_family,
      concat_family,
      reorder_family,
  };
  return all;
}

std::vector<Layout> activation_layouts(std::size_t rank) {
  if (rank < 3) return {Layout{}};
  return {Layout::channels_last(rank), Layout::channels_blocked(rank, has_avx512() ? 16 : 8), Layout{}};
}

} // namespace lanner::onednn
