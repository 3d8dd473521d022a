#pragma once
// Batch sizes of a network's runs.

#include <cstddef>
#include <string>

#include <lanner/engine.h>

namespace lanner {

/// Keeps the number of batch sizes small: kernels are made for a size, and a new one in the middle of a run
/// would make everything wait for them. An incomplete batch is filled up by repeating the last picture, whose
/// surplus results are ignored. Passive; one thread at a time.
class RunSizes {
public:
  /// `full` pictures make a full run of input `input`. `ready`: its kernels exist, for instance because the
  /// engine was built for it. Otherwise incomplete batches run without filling up, until a full one has run.
  /// Throws Error{invalid_argument} if the network requires another number.
  RunSizes(const Engine& engine, const std::string& input, int full, bool ready = true);

  /// The batch size of a run for this many pictures. It is this number if an output has no part for each
  /// picture.
  std::size_t of(std::size_t pictures) const;
  /// Learns from the last run, which had this many pictures. Its results may still be pending.
  void learn(const Engine& engine, const Context& context, std::size_t pictures);

private:
  std::size_t full_;
  std::size_t fixed_ = 0;  ///< The number that the network requires; 0: any.
  bool filled_up_ = false; ///< Whether fewer pictures are filled up to a full run.
};

} // namespace lanner
