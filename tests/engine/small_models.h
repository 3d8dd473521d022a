#pragma once
// Engines of a few nodes that a test writes as an ONNX file.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/source.h>

#include "importers/onnx_file.h"
#include "program/weights/packing.h"

namespace lanner::test {

/// One thread, nothing timed.
inline BuildOptions plain_options(Device device = {}) {
  BuildOptions options;
  options.budget = 0;
  options.threads = 1;
  options.device = device;
  return options;
}

/// The bytes are copied.
inline Engine built(const std::string& model, const BuildOptions& options) {
  const auto kept = std::make_shared<const std::string>(model);
  return Engine::build(open_bytes(std::as_bytes(std::span(*kept)), kept, "small.onnx"), options);
}

/// With plain options and these shapes.
inline Engine built(const onnx_file::GraphSpec& spec, const std::map<std::string, ShapeRange>& shapes = {}) {
  BuildOptions options = plain_options();
  options.shapes = shapes;
  return built(onnx_file::model(onnx_file::graph(spec)), options);
}

/// `first`, `first` + 1, ...
inline Tensor ramp(const Shape& shape, float first = 0) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  for (float& number : tensor.as<float>()) number = first++;
  return tensor;
}

/// The elements in row-major order, for any device and layout.
inline std::vector<float> numbers(const Tensor& tensor) {
  const Tensor plain = pack(tensor.to(Device{}), of_type(DType::f32));
  return {plain.as<float>().begin(), plain.as<float>().end()};
}

/// The same elements in a layout.
inline Tensor laid_out(const Tensor& tensor, std::string_view layout) {
  Storage storage;
  storage.layout = Layout::parse(layout);
  return pack(tensor, storage);
}

} // namespace lanner::test
