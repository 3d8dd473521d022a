#pragma once
// Preprocess on a GPU: pictures are uploaded unchanged, and one kernel writes the tensor.

#include <memory>

#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

#include "device/cuda/gpu.h"
#include "image/cuda/preprocess_kernel.h"
#include "image/preprocess_plan.h"

namespace lanner {

/// Fills batch element `batch_index` of `output`, as preprocess() does; `output` is on a GPU, `image` there
/// or on the host. Queued on `stream`, not waited for. Any thread. A picture on the GPU costs one launch:
/// tables of weights are uploaded at the first call with their parameters and cached, a bounded number of
/// them, and bilinear sampling has none. One on the host is copied before return, through pooled memory.
void preprocess_on_gpu(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
                       Stream stream);

/// A picture on a GPU as its kernels read it, without the target's memory.
struct GpuPicture {
  DevicePreprocess parameters;
  std::shared_ptr<const void> tables; ///< What the parameters point to besides the picture; may be null.
};
/// `plan.source` is on `device`. Tables are uploaded, and waited for, at the first call with their
/// parameters.
GpuPicture picture_on_gpu(const PreprocessPlan& plan, Device device);

/// The kernel for several pictures in one launch. Immutable.
class PicturesFunction {
public:
  /// Depends only on the resize method. Throws Error{unsupported} where the build had no nvcc.
  PicturesFunction(Device device, const Preprocess& spec);
  /// Queued, not waited for; the GPU's context is current.
  void launch(const DevicePictures& pictures, std::int64_t count, Stream stream) const;

private:
  cuda::FunctionHandle handle_ = {};
};

} // namespace lanner
