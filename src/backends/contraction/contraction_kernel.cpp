#include "backends/contraction/contraction_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "backends/config_text.h"
#include "backends/contraction/epilogue_rows.h"
#include "backends/contraction/row_gather.h"
#include "backends/contraction/task_shares.h"
#include "base/check.h"
#include "device/cpu.h"
#include "device/parallel.h"

namespace lanner {
namespace {

/// How the work is cut. A task is a block of rows by a part of the panels of one group; within it, a strip of
/// rows meets as many panels as stay in the L2 cache before the next strip does.
struct Blocking {
  std::int64_t rows = 0;         ///< Of a block.
  std::int64_t blocks = 0;       ///< Of rows.
  std::int64_t panels = 0;       ///< Of a group.
  std::int64_t parts = 1;        ///< Of a group's panels.
  std::int64_t group_panels = 1; ///< Those that stay in the cache.

  std::int64_t tasks(std::int64_t groups) const { return groups * blocks * parts; }
};

Blocking blocking_of(const Contraction& c, const BlockFunctions& functions, const RowGather& gather,
                     int threads) {
  // Of L2, which gathered rows and weights share; and sums that stay in L1.
  constexpr std::int64_t few_rows = 192 << 10, many_rows = 1 << 20, large_weights = 512 << 10,
                         weights_in_cache = 128 << 10, sums_in_cache = 12 << 10;
  const std::int64_t strip = functions.max_rows, width = functions.width;
  const std::int64_t row_bytes = gather.row_bytes(), panel = gather.steps() * functions.step_bytes();
  Blocking b;
  b.panels = quotient_up(c.group_columns(), width);
  // Each block of rows reads all weights again.
  const bool few_blocks = functions.whole_rows > 1 && gather.in_place() && b.panels * panel > large_weights;
  const std::int64_t rows_in_cache = few_blocks ? many_rows : few_rows;
  const std::int64_t most =
      std::clamp(rows_in_cache / row_bytes / strip, std::int64_t{1}, std::int64_t{32}) * strip;
  b.blocks = quotient_up(c.rows(), most);
  b.rows = rounded_up(quotient_up(c.rows(), b.blocks), strip);
  b.blocks = quotient_up(c.rows(), b.rows);
  // Several tasks for each thread, as threads may lose their cores: of the columns where there are few rows.
  const std::int64_t wanted = threads > 1 ? 4 * threads : 1, have = b.blocks * c.groups;
  if (have < wanted) b.parts = std::min(b.panels, quotient_up(wanted, have));
  b.group_panels = std::clamp(std::min(weights_in_cache / panel, sums_in_cache / (4 * strip * width)),
                              std::int64_t{1}, quotient_up(b.panels, b.parts));
  return b;
}

/// A kernel's own copy of the weights, group by group, panel by panel, step by step.
class WeightCopy {
public:
  WeightCopy(const Contraction& c, const BlockFunctions& functions, bool joined)
      : unit_(functions.unit), element_(functions.element), width_(functions.width),
        columns_(c.group_columns()), channels_(c.channels()), taps_(c.conv ? c.window.taps() : 1),
        groups_(c.groups), by_column_(c.conv || c.transposed) {
    line_ = joined && c.conv ? c.window.kernel[1] : 1;
    run_ = rounded_up(line_ * channels_, unit_);
    depth_ = rounded_up(taps_ / line_ * run_, unit_ * functions.whole_steps);
    panels_ = quotient_up(columns_, width_);
  }

  std::vector<std::byte> of(const std::byte* weights) const {
    std::vector<std::byte> all(static_cast<std::size_t>(groups_ * panels_ * width_ * depth_ * element_));
    for (std::int64_t column = 0; column < groups_ * columns_; ++column)
      for (std::int64_t tap = 0; tap < taps_; ++tap)
        for (std::int64_t channel = 0; channel < channels_; ++channel) {
          const std::int64_t from =
              by_column_ ? (column * channels_ + channel) * taps_ + tap : channel * columns_ + column;
          std::memcpy(all.data() + place(column, tap, channel) * element_, weights + from * element_,
                      static_cast<std::size_t>(element_));
        }
    return all;
  }

private:
  std::int64_t place(std::int64_t column, std::int64_t tap, std::int64_t channel) const {
    const std::int64_t panel = column / columns_ * panels_ + column % columns_ / width_;
    const std::int64_t depth = tap / line_ * run_ + tap % line_ * channels_ + channel;
    return panel * width_ * depth_ + depth / unit_ * unit_ * width_ + column % columns_ % width_ * unit_ +
           depth % unit_;
  }

  std::int64_t unit_, element_, width_, columns_, channels_, taps_, groups_;
  bool by_column_;
  std::int64_t line_, run_, depth_, panels_;
};

/// The registers that the functions need, as long as it lives.
class TileScope {
public:
  explicit TileScope(const BlockFunctions& functions) : functions_(functions) {
    if (functions_.begin) functions_.begin(saved_);
  }
  ~TileScope() {
    if (functions_.end) functions_.end(saved_);
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

private:
  const BlockFunctions& functions_;
  TileState saved_{};
};

class ContractionKernel final : public Kernel {
public:
  ContractionKernel(const Contraction& c, const Preparation& p, const BlockFunctions& functions);

  std::size_t workspace() const override {
    return static_cast<std::size_t>(slots_) * static_cast<std::size_t>(slot_.total);
  }

  std::vector<std::span<const std::byte>> own_weights() const override {
    return {std::span<const std::byte>(copy_)};
  }

  void launch(const Launch& launch) const override {
    const TaskShares shares(slots_, blocking_.tasks(groups_), scratch_of(launch, 0) + slot_.next,
                            slot_.total);
    parallel_for(slots_, 0, slots_, 1, [&](std::int64_t slot, std::int64_t) {
      const TileScope tiles(functions_);
      while (const auto task = shares.take(slot)) run(launch, *task, scratch_of(launch, slot));
    });
  }

private:
  /// Bytes from the start of a thread's scratch memory.
  struct Slot {
    std::int64_t row_sums = 0, start = 0, sums = 0, operand = 0, next = 0, total = 0;
  };
  struct Task {
    std::int64_t group, first_row, last_row, first_panel, last_panel;
    std::int64_t first_gathered; ///< Rows before it are used in place.
  };

  void read_weights(const Contraction& c, const Preparation& p, bool joined);
  void lay_out_slot();
  std::byte* scratch_of(const Launch& launch, std::int64_t slot) const {
    return static_cast<std::byte*>(launch.workspace) + slot * slot_.total;
  }
  Task task_of(std::int64_t number) const;
  std::int64_t first_gathered(std::int64_t first_row, std::int64_t last_row) const;
  void run(const Launch& launch, std::int64_t number, std::byte* scratch) const;
  void run_panels(const Launch& launch, const Task& task, std::int64_t panel, std::int64_t panels, int zero,
                  std::byte* scratch) const;
  std::int64_t ahead_step(std::int64_t rows) const;
  void add_weight_zeros(const std::int32_t* row_sums, std::int64_t rows, std::int64_t column,
                        std::int64_t columns, std::int32_t* sums) const;
  int zero_of(const Launch& launch) const;
  const std::byte* panels_of(const Launch& launch) const {
    return copy_.empty() ? static_cast<const std::byte*>(launch.inputs[weights_]) : copy_.data();
  }
  void write(const Launch& launch, std::int32_t* sums, const ResultPiece& piece, float* operand) const;

  const BlockFunctions& functions_;
  BlockMultiply multiply_;
  RowGather gather_;
  std::optional<EpilogueRows> epilogue_; ///< None: the result is the sums.
  StoredBytes x_;
  Operand x_zero_;
  std::size_t weights_;
  std::int64_t rows_, groups_, group_columns_, columns_;
  std::int64_t panel_bytes_ = 0, sums_stride_ = 0, out_distance_ = 0;
  Blocking blocking_;
  Slot slot_;
  int slots_ = 1;
  std::vector<std::byte> copy_; ///< Of the weights; empty: they are used in place.
  /// By padded column: sums of weights that a row's zero point multiplies, and zero points of the weights.
  std::vector<std::int32_t> column_sums_, weight_zeros_;
};

ContractionKernel::ContractionKernel(const Contraction& c, const Preparation& p,
                                     const BlockFunctions& functions)
    : functions_(functions), multiply_(functions.multiply(c.has_signed_weights())), x_(c.x),
      x_zero_(c.x_zero), weights_(c.weights.index), rows_(c.rows()), groups_(c.groups),
      group_columns_(c.group_columns()), columns_(c.columns()) {
  const std::int64_t distance =
      functions.element * row_distance(p.tactic.inputs.at(c.x.operand.index), c.channels() * c.groups);
  const bool copied = panel_form(c, functions).copied;
  const bool joined = c.conv && c.window.dilations[1] == 1 && (copied || c.channels() % functions.unit == 0);
  gather_ = RowGather(c, functions, distance, joined);
  panel_bytes_ = gather_.steps() * functions.step_bytes();
  const int threads = static_cast<int>(ConfigText(p.tactic.config).integer("threads"));
  blocking_ = blocking_of(c, functions, gather_, std::clamp(threads, 1, p.target.threads));
  slots_ = static_cast<int>(
      std::min<std::int64_t>(std::clamp(threads, 1, p.target.threads), blocking_.tasks(groups_)));
  read_weights(c, p, joined);
  out_distance_ = row_distance(p.tactic.outputs.at(0), columns_);
  const std::int64_t padded = columns_ + functions.width;
  if (c.type != DType::i32) epilogue_.emplace(c, p, functions, padded, out_distance_);
  lay_out_slot();
}

void ContractionKernel::read_weights(const Contraction& c, const Preparation& p, bool joined) {
  const Tensor& weights = *prepared_constant(c.weights, p);
  if (panel_form(c, functions_).copied)
    copy_ = WeightCopy(c, functions_, joined).of(static_cast<const std::byte*>(weights.data()));
  const auto* panels =
      copy_.empty() ? static_cast<const std::byte*>(weights.data()) : std::as_const(copy_).data();
  const std::int64_t width = functions_.width, all = groups_ * blocking_.panels;
  if (functions_.quads()) {
    column_sums_.assign(static_cast<std::size_t>(all * width), 0);
    for (std::int64_t panel = 0; panel < all; ++panel)
      for (std::int64_t i = 0; i < panel_bytes_; ++i)
        column_sums_[static_cast<std::size_t>(panel * width + i / functions_.unit % width)] +=
            static_cast<std::int8_t>(panels[panel * panel_bytes_ + i]);
  }
  if (!c.has_weight_zeros()) return;
  weight_zeros_.assign(static_cast<std::size_t>(all * width), 0);
  const std::vector<double> zeros =
      column_numbers(c.weight_zero, columns_, prepared_constant(c.weight_zero, p));
  for (std::int64_t column = 0; column < columns_; ++column)
    weight_zeros_[static_cast<std::size_t>(column / group_columns_ * blocking_.panels * width +
                                           column % group_columns_)] =
        static_cast<std::int32_t>(zeros[static_cast<std::size_t>(column)]);
}

void ContractionKernel::lay_out_slot() {
  const std::int64_t width = functions_.width;
  sums_stride_ = blocking_.group_panels * width;
  slot_.row_sums = rounded_up(blocking_.rows * gather_.row_bytes(), cache_line);
  slot_.start = slot_.row_sums + rounded_up(4 * blocking_.rows, cache_line);
  slot_.sums = slot_.start + 4 * sums_stride_;
  slot_.operand = slot_.sums + 4 * sums_stride_ * functions_.max_rows;
  slot_.next = slot_.operand + rounded_up(4 * sums_stride_, cache_line);
  slot_.total = slot_.next + cache_line;
}

ContractionKernel::Task ContractionKernel::task_of(std::int64_t number) const {
  const std::int64_t part = number % blocking_.parts, rest = number / blocking_.parts;
  const std::int64_t block = rest % blocking_.blocks;
  const std::int64_t first = block * blocking_.rows, last = std::min(rows_, first + blocking_.rows);
  const auto edge = [&](std::int64_t i) { return i * blocking_.panels / blocking_.parts; };
  return {rest / blocking_.blocks, first, last, edge(part), edge(part + 1), first_gathered(first, last)};
}

/// Of rows in place only those of a strip that would be read beyond x's last row are gathered.
std::int64_t ContractionKernel::first_gathered(std::int64_t first_row, std::int64_t last_row) const {
  if (!gather_.in_place()) return first_row;
  const std::int64_t strip = functions_.max_rows;
  const std::int64_t last_strip = first_row + (last_row - first_row - 1) / strip * strip;
  return last_strip + rounded_up(last_row - last_strip, functions_.whole_rows) > rows_ ? last_strip
                                                                                       : last_row;
}

int ContractionKernel::zero_of(const Launch& launch) const {
  if (!x_zero_) return x_.by.zero;
  const void* zero = launch.inputs[x_zero_.index];
  return x_.is_signed() ? static_cast<int>(*static_cast<const std::int8_t*>(zero))
                        : static_cast<int>(*static_cast<const std::uint8_t*>(zero));
}

void ContractionKernel::run(const Launch& launch, std::int64_t number, std::byte* scratch) const {
  const Task task = task_of(number);
  const int zero = zero_of(launch);
  gather_.gather(static_cast<const std::byte*>(launch.inputs[x_.operand.index]), task.group,
                 task.first_gathered, task.last_row, zero, scratch);
  if (!weight_zeros_.empty()) {
    auto* const row_sums = reinterpret_cast<std::int32_t*>(scratch + slot_.row_sums);
    for (std::int64_t r = 0; r < task.last_row - task.first_row; ++r) {
      const auto* row = reinterpret_cast<const std::int16_t*>(scratch + r * gather_.row_bytes());
      row_sums[r] = std::accumulate(row, row + 2 * gather_.steps(), 0);
    }
  }
  for (std::int64_t panel = task.first_panel; panel < task.last_panel; panel += blocking_.group_panels)
    run_panels(launch, task, panel, std::min(blocking_.group_panels, task.last_panel - panel), zero, scratch);
}

void ContractionKernel::run_panels(const Launch& launch, const Task& task, std::int64_t panel,
                                   std::int64_t panels, int zero, std::byte* scratch) const {
  const std::int64_t width = functions_.width, at = task.group * blocking_.panels + panel;
  auto* const start = reinterpret_cast<std::int32_t*>(scratch + slot_.start);
  auto* const sums = reinterpret_cast<std::int32_t*>(scratch + slot_.sums);
  const auto* x = static_cast<const std::byte*>(launch.inputs[x_.operand.index]);
  const int shift = x_.is_signed() ? zero + 128 : zero;
  for (std::int64_t i = 0; i < panels * width; ++i)
    start[i] = column_sums_.empty() ? 0 : -shift * column_sums_[static_cast<std::size_t>(at * width + i)];
  ResultPiece piece{task.first_row, 0, task.group * group_columns_ + panel * width,
                    std::min(panels * width, group_columns_ - panel * width)};
  // The next panels, in equal parts by each product of these.
  const std::byte* ahead = panels_of(launch) + (at + panels) * panel_bytes_;
  const std::int64_t step = ahead_step(task.last_row - task.first_row);
  for (; piece.row < task.last_row; piece.row += piece.rows) {
    piece.rows = std::min<std::int64_t>(functions_.max_rows, task.last_row - piece.row);
    const bool in_place = piece.row < task.first_gathered;
    BlockProduct one{in_place ? gather_.row_in_place(x, task.group, piece.row)
                              : scratch + (piece.row - task.first_gathered) * gather_.row_bytes(),
                     in_place ? gather_.distance() : gather_.row_bytes(),
                     panels_of(launch) + at * panel_bytes_,
                     gather_.steps(),
                     start,
                     sums,
                     sums_stride_,
                     false,
                     ahead,
                     step};
    for (std::int64_t i = 0; i < panels; ++i) {
      one.half = piece.columns - i * width <= width / 2;
      multiply_(one, static_cast<int>(piece.rows));
      one.panel += panel_bytes_;
      one.ahead += step * (gather_.steps() / functions_.whole_steps);
      one.start += width;
      one.sums += width;
    }
    if (!weight_zeros_.empty())
      add_weight_zeros(reinterpret_cast<const std::int32_t*>(scratch + slot_.row_sums) + piece.row -
                           task.first_row,
                       piece.rows, at * width, panels * width, sums);
    ahead = one.ahead;
    write(launch, sums, piece, reinterpret_cast<float*>(scratch + slot_.operand));
  }
}

/// Bytes that each step of each product fetches, so that a task with so many rows fetches a panel for a
/// panel.
std::int64_t ContractionKernel::ahead_step(std::int64_t rows) const {
  const std::int64_t strips = quotient_up(rows, functions_.max_rows);
  return rounded_up(quotient_up(functions_.step_bytes() * functions_.whole_steps, strips), cache_line);
}

/// sum of x (w - zero) = sum of x w - zero * sum of x.
void ContractionKernel::add_weight_zeros(const std::int32_t* row_sums, std::int64_t rows, std::int64_t column,
                                         std::int64_t columns, std::int32_t* sums) const {
  for (std::int64_t r = 0; r < rows; ++r, sums += sums_stride_)
    for (std::int64_t i = 0; i < columns; ++i)
      sums[i] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(sums[i]) -
          static_cast<std::uint32_t>(weight_zeros_[static_cast<std::size_t>(column + i)] * row_sums[r]));
}

void ContractionKernel::write(const Launch& launch, std::int32_t* sums, const ResultPiece& piece,
                              float* operand) const {
  if (epilogue_ && functions_.sums_floats())
    return epilogue_->write(launch, reinterpret_cast<float*>(sums), sums_stride_, piece, operand);
  if (epilogue_) return epilogue_->write(launch, sums, sums_stride_, piece, operand);
  auto* out = static_cast<std::int32_t*>(launch.outputs[0]) + piece.row * out_distance_ + piece.column;
  for (std::int64_t r = 0; r < piece.rows; ++r)
    std::memcpy(out + r * out_distance_, sums + r * sums_stride_,
                4 * static_cast<std::size_t>(piece.columns));
}

} // namespace

std::unique_ptr<Kernel> contraction_prepare(const Preparation& p, const std::optional<Contraction>& c,
                                            const std::string& reason) {
  check_taken(c.has_value(), p, reason);
  const std::string name = ConfigText(p.tactic.config).text("by");
  const auto all = c->reals() ? all_bf16_functions() : all_int8_functions();
  const auto found = std::ranges::find_if(all, [&](const BlockFunctions* f) { return f->name == name; });
  check(found != all.end(), ErrorCode::unsupported, "cpu: {}: this processor has no {}: build the plan again",
        p.tactic.kernel, name);
  const std::string refusal = contraction_refusal(*c, **found);
  check_taken(refusal.empty(), p, refusal);
  const Layout wanted = panel_form(*c, **found).layout;
  const Layout& given = p.tactic.inputs.at(c->weights.index).layout;
  check(given == wanted, ErrorCode::unsupported,
        "cpu: {}: the weights' layout is {}, {} needs {}: build the plan again", p.tactic.kernel,
        given.to_string(), name, wanted.to_string());
  return std::make_unique<ContractionKernel>(*c, p, **found);
}

} // namespace lanner
