#pragma once
// The kernel families of oneDNN, one file each.

#include <span>

#include "backends/family.h"

namespace lanner::onednn {

extern const KernelFamily conv_family;
extern const KernelFamily conv_transpose_family;
extern const KernelFamily matmul_family;
extern const KernelFamily inner_product_family;
extern const KernelFamily pool_family;
extern const KernelFamily softmax_family;
extern const KernelFamily layer_normalization_family;
extern const KernelFamily batch_normalization_family;
extern const KernelFamily lrn_family;
extern const KernelFamily resize_family;
extern const KernelFamily reduce_family;
extern const KernelFamily concat_family;
extern const KernelFamily reorder_family;

/// All of them.
std::span<const KernelFamily> families();

/// The layouts of activations worth trying for a tensor N, C, spatial...: channels last, channels blocked by
/// the vector width, row-major.
std::vector<Layout> activation_layouts(std::size_t rank);

} // namespace lanner::onednn
