#pragma once
// Colour conversion on a GPU.

#include "image/convert_plan.h"

namespace lanner {

/// Queues the conversion between two images on one GPU on `stream`.
void convert_on_gpu(const ConvertJob& job, Stream stream);

} // namespace lanner
