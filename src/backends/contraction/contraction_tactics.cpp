// Tactics of convolutions and products of bytes and of bf16: layouts of weights, estimates.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backends/config_text.h"
#include "backends/contraction/contraction_kernel.h"
#include "backends/contraction/epilogue_rows.h"
#include "backends/contraction/image_rows.h"
#include "backends/contraction/row_gather.h"
#include "backends/cpu/stored_types.h"
#include "backends/estimate.h"
#include "backends/operand_storages.h"
#include "backends/storage_layout.h"

namespace lanner {
namespace {

/// Where a contraction's values are.
Layout value_layout(const Contraction& c, const Shape& shape) {
  return c.conv ? canonical(Layout::channels_last(shape.rank()), shape) : Layout{};
}

/// Those that compete.
std::vector<const BlockFunctions*> functions_for(const Contraction& c) {
  if (c.reals())
    return bf16_tile_functions() ? std::vector{bf16_tile_functions()} : std::vector<const BlockFunctions*>();
  std::vector<const BlockFunctions*> list{&int8_functions(true)};
  if (const BlockFunctions* tiles = int8_tile_functions()) list.push_back(tiles);
  return list;
}

/// Operations in the time of one of f32: of pairs vpmaddwd and vpaddd share three ports (AVX2, measured) or
/// two (AVX-512), and an FMA of f32 has two; VNNI has one instruction for both, AMX one for 16 rows.
double speedup_of(const BlockFunctions& functions) {
  return functions.whole_rows > 1   ? 16.0 / static_cast<double>(functions.element)
         : functions.quads()        ? 3.0
         : functions.name == "avx2" ? 1.5
                                    : 1.0;
}

/// Rows that are computed for each that is wanted, where rows share pixels.
double padded_share(const Contraction& c, const BlockFunctions& functions) {
  const ImageRows rows(c, functions, 0);
  return static_cast<double>(rows.images() * rows.tiles(rows.lines()) * rows.tile_rows()) /
         static_cast<double>(c.rows());
}

/// Whether rows are read where they are, if x is no part of a larger value.
bool in_place(const Contraction& c, const BlockFunctions& functions) {
  return RowGather(c, functions, c.channels() * c.groups * functions.element, false).in_place();
}

double seconds_on(int threads, const Contraction& c, const BlockFunctions& functions, RowForm form,
                  const Target& target) {
  constexpr double of_gathered = 6; // Operations for an element of a row.
  const double half = static_cast<double>(functions.width) / 2,
               columns = static_cast<double>(c.group_columns());
  const double padded = std::ceil(columns / half) * half, results = static_cast<double>(c.output.elements());
  const bool shared = form == RowForm::shared;
  const double gathered = shared                   ? static_cast<double>(c.input.elements())
                          : in_place(c, functions) ? 0
                                                   : c.operations() / 2 / columns;
  const double bytes = static_cast<double>(functions.element * (c.input.elements() + c.filter.elements())) +
                       results * static_cast<double>(bit_width(c.type)) / 8;
  const double rows = static_cast<double>(c.rows()),
               all_rows = static_cast<double>(rounded_up(c.rows(), functions.whole_rows));
  return seconds_of({.operations = c.operations() * padded / columns / speedup_of(functions) *
                                       (shared ? padded_share(c, functions) : all_rows / rows) +
                                   gathered * of_gathered + results * epilogue_operations(c),
                     .bytes = bytes,
                     .threads = threads},
                    target);
}

/// As GemmKernel has them: sizes in between are timed on one thread and on all.
std::vector<int> thread_counts(double seconds, int most) {
  constexpr double too_short = 1.5e-6, long_enough = 50e-6;
  if (most == 1 || seconds < too_short) return {1};
  if (seconds > long_enough) return {most};
  return {most, 1};
}

/// The operand of a step whose memory the result may take: each of its elements is read by the piece of the
/// result that overwrites it, before that. -1: none.
int replaceable(const Contraction& c) {
  for (const ContractionStep& step : c.steps) {
    const Operand& operand = step.operand;
    if (!operand.is_input() || step.spread != Spread::full || operand.index == c.x.operand.index) continue;
    if (operand.constant || operand.shape() != c.output) continue;
    if (c.reals() || bit_width(operand.dtype()) == bit_width(c.type)) return static_cast<int>(operand.index);
  }
  return -1;
}

void take_strided_rows(const Contraction& c, Tactic& tactic) {
  // A row-major value with one channel or one pixel is not made of rows within a larger one.
  const auto strided = [&](const Storage& storage) {
    if (c.conv && storage.layout.row_major()) return AxisSet{};
    return AxisSet::only(static_cast<int>(c.channel_axis()));
  };
  tactic.strided_inputs.assign(tactic.inputs.size(), {});
  // Steps read their operands as whole values.
  const bool also_operand = std::ranges::any_of(c.steps, [&](const ContractionStep& step) {
    return step.operand.is_input() && step.operand.index == c.x.operand.index;
  });
  if (!also_operand) tactic.strided_inputs[c.x.operand.index] = strided(tactic.inputs[c.x.operand.index]);
  tactic.strided_outputs = {strided(tactic.outputs[0])};
}

} // namespace

PanelForm panel_form(const Contraction& c, const BlockFunctions& functions) {
  const bool whole_steps =
      c.channels() % functions.unit == 0 && c.depth() % (functions.unit * functions.whole_steps) == 0;
  const bool whole_panels = c.groups == 1 || c.group_columns() % functions.width == 0;
  const bool shifted = functions.quads() && c.shifts_weights();
  if (!whole_steps || !whole_panels || shifted) return {{}, true};
  const bool by_column = c.conv || c.transposed;
  const std::uint8_t columns = by_column ? 0 : 1, depth = by_column ? 1 : 0;
  Layout layout;
  layout.order = {columns};
  for (std::size_t axis = 2; axis < c.filter.rank(); ++axis)
    layout.order.push_back(static_cast<std::uint8_t>(axis));
  layout.order.push_back(depth);
  layout.blocks = {{columns, static_cast<std::uint16_t>(functions.width)},
                   {depth, static_cast<std::uint16_t>(functions.unit)}};
  return {canonical(layout, c.filter), false};
}

std::vector<RowForm> row_forms(const Contraction& c, const BlockFunctions& functions) {
  // Rows that share pixels have no sums of their own, which zero points of the weights need.
  const bool sums_rows = functions.quads() && (c.has_weight_zeros() || c.shifts_weights());
  if (!can_share_pixels(c, functions) || sums_rows) return {RowForm::gathered};
  return {RowForm::shared, RowForm::gathered};
}

std::vector<std::byte> contraction_config(const BlockFunctions& functions, RowForm form, int threads) {
  ConfigText text;
  text.set("by", std::string(functions.name)).set("threads", threads);
  if (form == RowForm::shared) text.set("shared", 1);
  return text.bytes();
}

RowForm row_form_of(const ConfigText& config) {
  return config.integer("shared", 0) != 0 ? RowForm::shared : RowForm::gathered;
}

std::string contraction_refusal(const Contraction& c, const BlockFunctions& functions) {
  if (c.reals()) return functions.sums_floats() ? "" : fmt::format("{} takes bytes", functions.name);
  return functions.sums_floats() ? fmt::format("{} takes bf16", functions.name) : "";
}

std::optional<Tactic> contraction_tactic(const Node& node, const Contraction& c,
                                         const BlockFunctions& functions, std::string_view kernel) {
  const Layout result = value_layout(c, c.output);
  const auto real = c.reals() ? std::optional(DType::bf16) : std::nullopt;
  OperandStorages storages(node.inputs().size());
  storages.ask(c.x.operand, stored_as(value_layout(c, c.input), real));
  storages.ask(c.weights, stored_as(panel_form(c, functions).layout, real));
  for (const Operand* operand : {&c.x_zero, &c.weight_scale, &c.weight_zero, &c.bias})
    storages.ask(*operand, {});
  for (const ContractionStep& step : c.steps) {
    const Shape shape = step.operand ? step.operand.shape() : Shape{};
    storages.ask(step.operand, step.spread == Spread::full
                                   ? stored_as(operand_layout(result, c.output.rank(), shape), real)
                                   : Storage{});
  }
  if (!storages.agree()) return std::nullopt;
  Tactic tactic;
  tactic.kernel = kernel;
  tactic.config = contraction_config(functions, RowForm::gathered, 1);
  tactic.inputs = storages.take();
  tactic.outputs = {stored_as(result, real)};
  tactic.accumulates = c.reals() ? DType::f32 : DType::i32;
  tactic.in_place = replaceable(c);
  take_strided_rows(c, tactic);
  return tactic;
}

TacticList contraction_tactics(const Node& node, const Contraction& c, const Target& target,
                               std::string_view kernel) {
  TacticList list;
  for (const BlockFunctions* functions : functions_for(c)) {
    auto tactic = contraction_tactic(node, c, *functions, kernel);
    if (!tactic) {
      list.reason = "an input is used twice, in different layouts";
      return list;
    }
    for (const RowForm form : row_forms(c, *functions)) {
      for (int threads : thread_counts(seconds_on(1, c, *functions, form, target), target.threads)) {
        tactic->config = contraction_config(*functions, form, threads);
        tactic->estimate = seconds_on(threads, c, *functions, form, target);
        list.tactics.push_back(*tactic);
      }
    }
  }
  return list;
}

} // namespace lanner
