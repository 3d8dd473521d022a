#pragma once
// The kernel families of the CUDA backend. Each offers storages on the target's device.

#include "backends/family.h"

namespace lanner::cuda {

extern const KernelFamily conv_family;        ///< cuDNN: convolution with bias, sum and activation.
extern const KernelFamily depthwise_family;   ///< Convolutions of each channel by itself, compiled for each.
extern const KernelFamily attention_family;   ///< Softmax of products times values, as one kernel.
extern const KernelFamily matmul_family;      ///< cuBLASLt: products with bias and activation.
extern const KernelFamily own_gemm_family;    ///< Products in halves by a kernel compiled for each.
extern const KernelFamily own_conv_family;    ///< Convolutions likewise.
extern const KernelFamily elementwise_family; ///< Groups of elementwise operations, compiled for each.
extern const KernelFamily
    movement_family;                     ///< What moves elements without computing: one compiled gather each.
extern const KernelFamily window_family; ///< Pooling.
extern const KernelFamily taps_family;   ///< Resizing, and padding that repeats elements.
extern const KernelFamily row_family;    ///< Softmax and reductions over rows.
extern const KernelFamily normalization_family; ///< Of rows and of channels, with the sum in front.
extern const KernelFamily index_family;         ///< Elements picked and put by index.
extern const KernelFamily roi_family;           ///< Bins of regions of images.
extern const KernelFamily selection_family;     ///< Elements that are not zero, boxes that are kept.
extern const KernelFamily picture_family;       ///< What a network reads of pictures.
extern const KernelFamily copy_to_host_family, copy_to_device_family, copy_to_gpu_family;

} // namespace lanner::cuda
