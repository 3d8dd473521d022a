#pragma once
// Regions of one picture as a batch.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <lanner/engine.h>

#include "engine/context/ready_shapes.h"
#include "image/bound_pictures.h"

namespace lanner {

/// Binds regions of a picture to one input of a context, where Context::bind has one region for all pictures.
/// Nothing is copied: regions are read, rotated and resized directly from the picture. Used by one thread at
/// a time.
class RegionInput {
public:
  /// Throws Error{invalid_argument} where the engine has no such input, or where the input has other built-in
  /// preprocessing.
  RegionInput(const Engine& engine, const std::string& input, const Preprocess& spec);
  /// `context` is of the engine. The picture is shared until the next call.
  void bind(Context& context, const Image& picture, std::span<const PixelRect> regions);
  const Preprocess& spec() const noexcept { return spec_; }

private:
  Engine engine_;
  std::size_t input_ = 0;
  Preprocess spec_;
  SpareTensors filled_;
  PictureStaging staging_;
  std::unique_ptr<BoundPictures> bound_;
};

} // namespace lanner
