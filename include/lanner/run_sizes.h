#pragma once
// How many pictures go through a network in one run.

#include <cstddef>
#include <string>

#include <lanner/engine.h>

namespace lanner {

/// Keeps the number of sizes that a network is run at small: kernels are made for a size, and one that is new
/// in the middle of a run would have everything wait for them. Fewer pictures than a full run takes are
/// filled up by repeating the last one, whose further answers nobody reads. Passive; one thread at a time.
class RunSizes {
public:
  /// `full` pictures make a full run of input `input`. `ready`: kernels for it are there, as where the engine
  /// was built for it; else fewer pictures run as they are until a full run was made. Throws
  /// Error{invalid_argument} where the network insists on another number.
  RunSizes(const Engine& engine, const std::string& input, int full, bool ready = true);

  /// Pictures of the run that takes so many. As many as they are where an output has no part for each
  /// picture.
  std::size_t of(std::size_t pictures) const;
  /// What the last run of so many pictures has shown. Its answers may still be on their way.
  void learn(const Engine& engine, const Context& context, std::size_t pictures);

private:
  std::size_t full_;
  std::size_t fixed_ = 0;  ///< The number that the network insists on; 0: it takes any.
  bool filled_up_ = false; ///< Fewer pictures run as a full run.
};

} // namespace lanner
