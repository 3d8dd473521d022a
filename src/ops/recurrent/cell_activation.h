#pragma once
// Activation functions of the gates of lstm, gru and rnn. Included by files of single instruction sets.

#include <cstdint>
#include <limits>

namespace lanner::ops {

/// An activation function with its parameters.
struct CellActivation {
  enum class Kind : std::uint8_t {
    relu,
    tanh,
    sigmoid,
    softsign,
    softplus,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
  };
  Kind kind = Kind::tanh;
  double alpha = 0, beta = 0;
  double bound = std::numeric_limits<double>::infinity(); ///< Bound on the magnitude of its argument: `clip`.

  double operator()(double x) const;
};

} // namespace lanner::ops
