#pragma once
// From pictures to what an input takes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lanner/engine.h>

#include "engine/context/ready_shapes.h"
#include "engine/state.h"

namespace lanner {

/// What an input that starts with a picture makes of it: as the engine was built, with the region and turns
/// of `asked`, which may be null. Throws Error{invalid_argument} where it asks for anything else.
Preprocess picture_spec(const std::string& input, const Preprocess& built, const Preprocess* asked);
/// Throws Error{invalid_argument} for a format that the input was not built for.
void check_picture(const Binding& input, const ImageInputOptions& taken, const Image& image);

/// Where picture_tensor() finds memory.
struct PictureMemory {
  SpareTensors& spare;
  std::uint64_t idle_bytes;
  int threads;
};
/// What an input that takes a tensor is given of pictures, as a context holds it. `specs` is one for all, or
/// one for each, of one size and type.
Tensor picture_tensor(std::span<const Image> images, std::span<const Preprocess> specs,
                      const EngineState& engine, std::size_t input, const PictureMemory& memory);

} // namespace lanner
