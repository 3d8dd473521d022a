#include "image/cuda/gpu_convert.h"
namespace lanner {
void convert_on_gpu(const ConvertJob&, Stream) {}
} // namespace lanner
