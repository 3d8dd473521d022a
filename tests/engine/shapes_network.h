#pragma once
// The demo's detector, as the network that engine tests build.

#include <lanner/engine.h>

#include "source_dir.h"

namespace lanner::test {

inline std::filesystem::path shapes_network() {
  return source_dir() / "demo" / "shapes.onnx";
}

/// Built for one picture by estimates, so that tests do not depend on timing.
inline Engine shapes_engine(int threads = 1, std::int64_t batch = 1) {
  BuildOptions options;
  options.budget = 0;
  options.deterministic = true;
  options.threads = threads;
  options.shapes["input"] = ShapeRange::fixed({batch, 3, 192, 320});
  return Engine::build(shapes_network(), options);
}

/// A picture of waves, different for each seed.
inline Tensor waves(std::int64_t batch = 1, int seed = 0) {
  Tensor tensor = Tensor::allocate(DType::f32, {batch, 3, 192, 320});
  std::int64_t i = 0;
  for (float& value : tensor.as<float>()) value = static_cast<float>((i++ * 37 + seed * 101) % 255) / 255.f;
  return tensor;
}

} // namespace lanner::test
