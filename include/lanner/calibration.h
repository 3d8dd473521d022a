#pragma once
// Ranges of a network's values, which decide how INT8 stores them.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/item.h>

namespace lanner {

/// How the largest magnitude that INT8 represents, the threshold, is chosen from the values of a tensor.
/// Larger values are clamped to it.
enum class Calibrator {
  automatic,  ///< Of the thresholds of all others, the one with which the readers' results are most exact.
  entropy,    ///< Least Kullback-Leibler divergence between the histogram and its quantised form.
  entropy2,   ///< The same as TensorRT's second version: outliers are counted at the threshold on both sides.
  min_max,    ///< The largest magnitude.
  percentile, ///< Of the given share of the values, the largest magnitude.
  legacy,     ///< TensorRT's first: the largest magnitude, cut at a quantile of the histogram.
};
/// `auto`, `entropy`, `entropy2`, `minmax`, `percentile`, `legacy`; throws Error{invalid_argument} for other
/// names.
Calibrator parse_calibrator(std::string_view name);
std::string_view calibrator_name(Calibrator calibrator);

/// Range of the values of one tensor.
struct TensorRange {
  double least = 0, most = 0; ///< Of the values seen, or given by the user.
  /// Magnitude that the largest stored number stands for: the scale of i8 is threshold / 127, of u8, which
  /// tensors without negative values get, threshold / 255.
  double threshold = 0;
  Calibrator calibrator = Calibrator::min_max; ///< Which gave the threshold.

  bool has_negative() const { return least < 0; }
  bool operator==(const TensorRange&) const = default;
};
/// The range of values from `least` to `most`. INT8 is symmetric, so its threshold is the larger magnitude of
/// the two; that of 0 to 0 is 1. Throws Error{invalid_argument} for NaN, infinite values and `least` above
/// `most`.
TensorRange symmetric_range(double least, double most);
/// Throws Error{invalid_argument} unless `range` is one that a table may hold: finite numbers in order, and a
/// threshold whose scales are finite normal numbers in f32.
void check_range(const TensorRange& range);

/// Ranges by name of a value of the model. Text of one line a tensor, the same on every device: saved tables
/// are calibration caches that other machines and later builds read.
class CalibrationTable {
public:
  std::map<std::string, TensorRange> ranges;

  bool empty() const { return ranges.empty(); }
  /// Reads a table, or a calibration cache of TensorRT (first line `TRT-...`, then `name: hexadecimal float`,
  /// the scale of i8). Throws Error{bad_data}, naming line and what was expected.
  static CalibrationTable parse(std::string_view text);
  static CalibrationTable load(const std::filesystem::path& file);
  std::string to_string() const;
  /// Writes beside `file` and renames.
  void save(const std::filesystem::path& file) const;
  bool operator==(const CalibrationTable&) const = default;
};

/// Gives one batch of calibration data at each call: values by input name. Nothing: the end. Called again
/// from the first batch on where `restart` is true.
using CalibrationData = std::function<std::optional<std::map<std::string, Item>>(bool restart)>;

/// How a build with precision INT8 finds the ranges of the values that it stores so, and which nodes stay in
/// FP32. A model that has quantize_linear nodes of its own needs none of it.
struct Calibration {
  CalibrationData data;
  /// Instead of `data`: a safetensors file with a tensor for each input, by name. Its first dim counts
  /// samples, or, where the tensor has a dim more than the input, batches. Neither given: `table` and
  /// `ranges` hold all ranges, and no node is checked.
  std::filesystem::path data_file;
  CalibrationTable table;           ///< Ranges of an earlier calibration; `data` is then for checks alone.
  std::filesystem::path table_file; ///< Instead of `table`: its file, or TensorRT's calibration cache.
  std::map<std::string, TensorRange> ranges; ///< The user's; they replace those of `table` and `data`.
  Calibrator calibrator = Calibrator::automatic;
  double percentile = 99.99; ///< Of Calibrator::percentile, in percent of the values.
  /// Least signal-to-noise ratio, in dB, of the output of a node in INT8, and of the network's outputs. Nodes
  /// below it stay in FP32. Negative infinity: none does.
  double least_snr = 20;
  /// Data serve to find ranges and to check nodes alone: no bias is corrected and no channel equalised, which
  /// a table does not hold, so that builds from the table give the same answers.
  bool ranges_only = false;
};

} // namespace lanner
