#include "options/calibration_rows.h"

#include <charconv>

#include <fmt/format.h>

#include <lanner/log.h>

#include "base/check.h"
#include "calibration/ranges.h"
#include "options/common_rows.h"

namespace lanner {
namespace {

using C = lanner_build_options;

double number_in(std::string_view text, const std::string& range) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc{} && end == text.data() + text.size(), ErrorCode::invalid_argument,
        "range '{}': expected LEAST:MOST, like -1:1", range);
  return number;
}

TensorRange range_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  check(colon != std::string::npos, ErrorCode::invalid_argument, "range '{}': expected LEAST:MOST, like -1:1",
        text);
  const std::string_view view = text;
  return symmetric_range(number_in(view.substr(0, colon), text), number_in(view.substr(colon + 1), text));
}

void add_ranges(BuildOptions& options, const NamedTexts& ranges) {
  for (const auto& [value, text] : ranges) {
    const TensorRange range = range_of(text);
    if (range.has_negative() && -range.least != range.most)
      log_message(LogLevel::info, fmt::format("range of {}: INT8 is symmetric, so {} becomes -{}:{}", value,
                                              text, range.threshold, range.threshold));
    add_once(options.calibration.ranges, value, range, "value");
  }
}

NamedTexts ranges_of(const BuildOptions& options) {
  NamedTexts ranges;
  for (const auto& [value, range] : options.calibration.ranges)
    ranges.emplace_back(value, fmt::format("{}:{}", range.least, range.most));
  return ranges;
}

OptionValue least_snr_in(const C& given) {
  return given.least_snr == 0 ? OptionValue() : OptionValue(given.least_snr);
}

OptionRow<BuildOptions> path_row(OptionInfo info, std::filesystem::path Calibration::*member,
                                 OptionField<C> field) {
  info.kind = OptionKind::path;
  return row<std::string, BuildOptions>(
      std::move(info),
      [member](const BuildOptions& options) { return (options.calibration.*member).string(); },
      [member](BuildOptions& options, const std::string& path) { options.calibration.*member = path; },
      std::move(field));
}

/// What ranges serve for, and the user's own.
void add_range_rows(OptionTable<BuildOptions>& table) {
  table.push_back(
      row({.name = "ranges_only",
           .help = "do not correct biases or scale channels by calibration data",
           .details = "neither is part of a calibration table, so that builds from the table give "
                      "the same answers; docs/int8.md",
           .flag = "--ranges-only"},
          &BuildOptions::calibration, &Calibration::ranges_only, flag_field("ranges_only", &C::ranges_only)));
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "ranges",
       .help = "range of a value for precision int8, instead of the calibrated one",
       .details = "the larger of the two magnitudes counts",
       .example = "x=-1:1",
       .flag = "--value-range",
       .metavar = "VALUE=LEAST:MOST",
       .last_equals = true},
      ranges_of, add_ranges,
      pairs_field("ranges", &C::ranges, &C::range_count, {"value", &lanner_value_range::value},
                  {"range", &lanner_value_range::range})));
}

} // namespace

void add_calibration_rows(OptionTable<BuildOptions>& table) {
  table.push_back(path_row(
      {.name = "calibration_data",
       .help = "samples of each input for precision int8, a safetensors file",
       .details = "a tensor for each input, its first dim counts samples; the command line takes a folder of "
                  "images too; docs/int8.md",
       .example = "samples.safetensors",
       .flag = "--calibrate",
       .metavar = "FILE"},
      &Calibration::data_file, field("calibration_data", &C::calibration_data)));
  table.push_back(
      path_row({.name = "calibration",
                .help = "ranges for precision int8: a calibration table, or TensorRT's calibration cache",
                .example = "model.calibration",
                .flag = "--calibration",
                .metavar = "FILE"},
               &Calibration::table_file, field("calibration", &C::calibration)));
  table.push_back(row<std::string, BuildOptions>(
      {.name = "calibrator",
       .help = "how ranges for precision int8 are chosen",
       .details = "auto takes for each value what keeps the results of its readers most exact",
       .example = "entropy",
       .flag = "--calibrator",
       .metavar = "NAME",
       .choices = {"auto", "entropy", "entropy2", "minmax", "percentile", "legacy"},
       .kind = OptionKind::words},
      [](const BuildOptions& options) {
        return std::string(calibrator_name(options.calibration.calibrator));
      },
      [](BuildOptions& options, const std::string& name) {
        options.calibration.calibrator = parse_calibrator(name);
      },
      field("calibrator", &C::calibrator)));
  table.push_back(
      row({.name = "least_snr",
           .help = "least signal-to-noise ratio in dB of a node in int8 and of the outputs",
           .details = "nodes below it stay in fp32; -inf keeps all in int8; 40 for fp16 and 25 for bf16 "
                      "unless another than 20 is given",
           .example = "25",
           .flag = "--least-snr",
           .metavar = "DB"},
          &BuildOptions::calibration, &Calibration::least_snr, field<C>("least_snr", least_snr_in)));
  add_range_rows(table);
}

} // namespace lanner
