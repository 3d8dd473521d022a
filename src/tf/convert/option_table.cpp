// The options of conversions besides those of builds.

#include <algorithm>
#include <array>

#include <lanner/error.h>
#include <lanner/tensorflow.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"
#include "options/rows.h"

namespace lanner::tf {
namespace {

using Options = ConvertOptions;
using Row = OptionRow<Options>;

constexpr std::string_view no_conversions = "the C interface converts no models of TensorFlow";
constexpr std::array<std::string_view, 2> mode_names{"static", "dynamic"};
constexpr std::array<std::string_view, 3> shapes_names{"any", "implicit_batch", "profiles"};

template<typename Value, std::size_t count>
Value value_named(const std::array<std::string_view, count>& names, std::string_view name, const char* what) {
  const auto found = std::ranges::find(names, name);
  check(found != names.end(), ErrorCode::invalid_argument, "{} '{}': expected one of {}", what,
        one_line(name, 200), joined(names, ", "));
  return static_cast<Value>(found - names.begin());
}

/// An option of an enumeration, which may be unset.
template<typename Value, typename Name, typename Parse>
Row named_row(OptionInfo info, std::optional<Value> Options::*member, Name name, Parse parse) {
  return row<std::string, Options>(
      std::move(info),
      [=](const Options& options) -> std::optional<std::string> {
        const std::optional<Value>& value = options.*member;
        return value ? std::optional(std::string(name(*value))) : std::nullopt;
      },
      [=](Options& options, const std::string& text) { options.*member = parse(text); });
}

void add_division_rows(OptionTable<Options>& table) {
  table.push_back(row({.name = "minimum_segment_size",
                       .help = "parts with fewer nodes stay native",
                       .details = "constants and Identity do not count; -1: everything stays native",
                       .example = "5",
                       .flag = "--min-segment",
                       .metavar = "N",
                       .least = -1,
                       .no_field = no_conversions},
                      &Options::minimum_segment_size));
  table.push_back(row({.name = "maximum_engines",
                       .help = "only the largest parts become engines; 0: no limit",
                       .flag = "--max-engines",
                       .metavar = "N",
                       .no_field = no_conversions},
                      &Options::maximum_engines));
  table.push_back(row({.name = "denied_nodes",
                       .help = "nodes that stay native",
                       .example = "logits",
                       .flag = "--deny-node",
                       .metavar = "NAME",
                       .no_field = no_conversions},
                      &Options::denied_nodes));
  table.push_back(row({.name = "denied_operators",
                       .help = "operators that stay native",
                       .example = "Softmax",
                       .flag = "--deny-operator",
                       .metavar = "NAME",
                       .no_field = no_conversions},
                      &Options::denied_operators));
  table.push_back(
      row({.name = "stand_alone",
           .help = "nodes that only TensorFlow can run are an error; else they stay native in the "
                   "saved model, which then runs inside TensorFlow alone",
           .flag = "--stand-alone",
           .no_field = no_conversions},
          &Options::stand_alone));
}

void add_mode_rows(OptionTable<Options>& table) {
  table.push_back(named_row(
      {.name = "mode",
       .help =
           "when engines are built: static, by the conversion, other shapes run natively; or dynamic, when "
           "their shapes first run or by build()",
       .example = "dynamic",
       .unset = "as a loaded model says, else by the conversion where all sizes are known",
       .flag = "--mode",
       .choices = {mode_names.begin(), mode_names.end()},
       .no_field = no_conversions},
      &Options::mode, [](EngineMode mode) { return mode_names[static_cast<std::size_t>(mode)]; },
      [](const std::string& name) { return value_named<EngineMode>(mode_names, name, "mode"); }));
  table.push_back(named_row(
      {.name = "engine_shapes",
       .help = "shapes that an engine serves: any, its own and smaller first sizes; implicit_batch, the same "
               "where all inputs agree in their first size; profiles, those within ranges",
       .example = "profiles",
       .unset = "as a loaded model says, else any",
       .flag = "--engine-shapes",
       .choices = {shapes_names.begin(), shapes_names.end()},
       .no_field = no_conversions},
      &Options::engine_shapes, [](EngineShapes kind) { return shapes_names[static_cast<std::size_t>(kind)]; },
      [](const std::string& name) {
        return value_named<EngineShapes>(shapes_names, name, "engine_shapes");
      }));
  table.push_back(named_row(
      {.name = "profile_strategy",
       .help = "how the shapes that build() is given become profiles: Range, Optimal, Range+Optimal or "
               "ImplicitBatchModeCompatible, which serves smaller batches than those given",
       .details = "implies profiles",
       .example = "Range+Optimal",
       .unset = "as a loaded model says, else Range",
       .flag = "--profile-strategy",
       .metavar = "NAME",
       .no_field = no_conversions},
      &Options::profile_strategy, [](ProfileStrategy strategy) { return to_string(strategy); },
      [](const std::string& name) { return parse_profile_strategy(name); }));
}

void add_cache_rows(OptionTable<Options>& table) {
  table.push_back(row({.name = "maximum_cached_engines",
                       .help = "engines of each part, by shapes; of more the least recently used is evicted",
                       .details = "engines of a part share their weights",
                       .example = "100",
                       .unset = "as a loaded model says, else 16",
                       .flag = "--max-cached-engines",
                       .metavar = "N",
                       .least = 1,
                       .no_field = no_conversions},
                      &Options::maximum_cached_engines));
  table.push_back(row({.name = "max_batch_size",
                       .help = "static mode: the batch of engines whose first size is open",
                       .example = "8",
                       .unset = "as a loaded model says, else 1",
                       .flag = "--max-batch-size",
                       .metavar = "N",
                       .least = 1,
                       .no_field = no_conversions},
                      &Options::max_batch_size));
  table.push_back(row({.name = "allow_build_at_runtime",
                       .help = "runs build engines for new shapes; else these run natively",
                       .example = "false",
                       .unset = "as a loaded model says, else true",
                       .flag = "--no-build-at-runtime",
                       .flag_value = false,
                       .flag_help = "shapes that have no engine when they run stay native",
                       .no_field = no_conversions},
                      &Options::allow_build_at_runtime));
  table.push_back(row({.name = "native_fallback",
                       .help = "shapes that no engine serves run natively; else they are an error",
                       .flag_value = false,
                       .no_flag = "the command runs nothing",
                       .no_field = no_conversions},
                      &Options::native_fallback));
  table.push_back(
      row({.name = "memory_limit",
           .help = "memory for engines and their contexts; engines least recently used are evicted, "
                   "and shapes whose engine does not fit run natively",
           .example = "512MiB",
           .unset = "no limit",
           .flag = "--memory-limit",
           .no_field = no_conversions},
          &Options::memory_limit));
}

} // namespace

const OptionTable<ConvertOptions>& convert_option_table() {
  static const OptionTable<ConvertOptions> table = [] {
    OptionTable<ConvertOptions> made;
    add_division_rows(made);
    add_mode_rows(made);
    add_cache_rows(made);
    return made;
  }();
  return table;
}

} // namespace lanner::tf
