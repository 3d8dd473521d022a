#pragma once
// Preprocesses pictures to an input's tensor.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lanner/engine.h>

#include "engine/context/ready_shapes.h"
#include "engine/state.h"

namespace lanner {

/// Preprocessing of an input with built-in preprocessing: `built`, with the region and quarter turns of
/// `asked`, which may be null. Throws Error{invalid_argument} where it asks for anything else.
Preprocess picture_spec(const std::string& input, const Preprocess& built, const Preprocess* asked);
/// Throws Error{invalid_argument} for a format that the input was not built for.
void check_picture(const Binding& input, const ImageInputOptions& taken, const Image& image);

/// Memory and threads for picture_tensor().
struct PictureMemory {
  SpareTensors& spare;
  std::uint64_t idle_bytes;
  int threads;
};
/// The tensor of a batch of pictures, in the layout of the context's input. `specs` is one for all, or one
/// for each, of the same size and type.
Tensor picture_tensor(std::span<const Image> images, std::span<const Preprocess> specs,
                      const EngineState& engine, std::size_t input, const PictureMemory& memory);

} // namespace lanner
