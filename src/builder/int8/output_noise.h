#pragma once
// How exact the outputs of a network in INT8 are.

#include <cstddef>
#include <cstdint>
#include <span>

#include <lanner/tensor.h>

#include "calibration/signal_noise.h"

namespace lanner {

/// Noise of an output of the network. That of a classifier, one short row for each input, counts without the
/// mean over the inputs: what all inputs have in common decides nothing.
class OutputNoise {
public:
  /// A batch whose values decide the output's shape, which differs then, is left out.
  void add(const Tensor& reference, const Tensor& quantised) {
    constexpr std::size_t longest_row = 4096;
    if (reference.shape() != quantised.shape()) {
      ++left_out_;
      return;
    }
    const std::span<const float> expected = reference.as<float>(), got = quantised.as<float>();
    all_.add(expected, got);
    const std::int64_t rows = reference.rank() == 2 ? reference.shape()[0] : 0;
    if (rows == 0) return;
    const auto width = static_cast<std::size_t>(reference.shape()[1]);
    if (rows_.inputs() == 0) width_ = width;
    in_rows_ = in_rows_ && width <= longest_row && width == width_;
    if (!in_rows_) return;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      rows_.add_input(expected.subspan(row * width, width), got.subspan(row * width, width));
  }
  double decibels() const {
    constexpr std::size_t fewest = 8; // the mean of fewer inputs is mostly the inputs themselves
    return in_rows_ && rows_.inputs() >= fewest ? rows_.together().decibels() : all_.decibels();
  }
  std::size_t left_out() const { return left_out_; }

private:
  SignalNoise all_;
  CentredSignalNoise rows_;
  std::size_t width_ = 0;    ///< Of the first row.
  bool in_rows_ = true;      ///< Whether all batches have short rows of that width.
  std::size_t left_out_ = 0; ///< Batches.
};

} // namespace lanner
