#pragma once
// Preprocess on a GPU: pictures go up as they are, one kernel writes the tensor.

#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// Fills batch element `batch_index` of `output`, as preprocess() does; `output` lies on a GPU, `image` there
/// or on the host. Queued on `stream`, not waited for. Any thread. A picture on the GPU costs one launch:
/// tables of weights are uploaded at the first call with their numbers and kept, a bounded number of them,
/// and bilinear sampling has none. One on the host is copied before return, through memory that is kept too.
void preprocess_on_gpu(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
                       Stream stream);

} // namespace lanner
