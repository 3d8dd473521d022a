#pragma once
// Batch sizes of a network's runs.

#include <cstddef>
#include <string>

#include <lanner/engine.h>

namespace lanner {

/// Keeps the number of batch sizes small: each size has kernels of its own, and the first run of a new size
/// waits until they are made. An incomplete batch is filled up by repeating its last picture; the results of
/// the repetitions are ignored. Passive; one thread at a time.
class RunSizes {
public:
  /// A full batch of input `input` has `full` pictures. `ready`: its kernels exist, for instance because the
  /// engine was built for this size; else incomplete batches run as they are until a full one has run.
  /// Throws Error{invalid_argument} if the network requires another batch size.
  RunSizes(const Engine& engine, const std::string& input, int full, bool ready = true);

  /// The batch size of a run for this many pictures: that of a full batch where it is filled up, for which
  /// each output must have a part for each picture.
  std::size_t of(std::size_t pictures) const;
  /// To be called after a run of this many pictures, which may be pending: uses the shapes of its outputs.
  void learn(const Engine& engine, const Context& context, std::size_t pictures);

private:
  std::size_t full_;
  std::size_t fixed_ = 0;  ///< The number that the network requires; 0: any.
  bool filled_up_ = false; ///< Whether fewer pictures are filled up to a full run.
};

} // namespace lanner
