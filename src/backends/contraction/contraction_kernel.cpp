#include "backends/contraction/contraction_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "backends/config_text.h"
#include "backends/contraction/blocking.h"
#include "backends/contraction/epilogue_rows.h"
#include "backends/contraction/image_rows.h"
#include "backends/contraction/row_gather.h"
#include "backends/contraction/task_shares.h"
#include "backends/contraction/weight_copy.h"
#include "base/check.h"
#include "device/cpu.h"
#include "device/parallel.h"

namespace lanner {
namespace {

/// The registers that the functions need, as long as it lives.
class TileScope {
public:
  TileScope(const BlockFunctions& functions, int rows) : functions_(functions) {
    if (functions_.begin) functions_.begin(saved_, rows);
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
      const TileScope tiles(functions_, tile_rows_);
      Progress progress{scratch_of(launch, slot)};
      while (const auto task = shares.take(slot)) run(launch, *task, progress);
    });
  }

private:
  /// Bytes from the start of a thread's scratch memory.
  struct Slot {
    std::int64_t row_sums = 0, start = 0, sums = 0, operand = 0, next = 0, total = 0;
  };
  struct Task {
    std::int64_t block; ///< Of rows of a group: tasks with the same one read the same rows.
    std::int64_t group, first_panel, last_panel;
    std::int64_t first_row, last_row;
    std::int64_t strips;
    std::int64_t first_gathered;                                 ///< Rows before it are used in place.
    std::int64_t first_image, last_image, first_line, last_line; ///< Where rows share pixels.
  };
  /// Panels that a strip of rows meets together.
  struct PanelGroup {
    std::int64_t panels;
    std::int64_t column, columns; ///< Of the result.
    std::int64_t padded_column;
    const std::byte* weights;
    const std::byte* ahead; ///< Moves on with each product.
    std::int64_t ahead_step;
  };
  /// Up to BlockFunctions::max_rows rows.
  struct Strip {
    const std::byte* rows;
    std::int64_t row_bytes, tile_distance, count;
  };
  /// Sums that are to become results.
  struct Sums {
    std::int32_t* sums = nullptr;    ///< Null: none.
    std::int64_t row = 0, count = 0; ///< Of the result: the first, and how many there are.
    std::int64_t column = 0, columns = 0;
    /// Where rows share pixels `row` is that of the first of these lines, and `count` is of tiles.
    std::int64_t tile = 0, lines = 0;
  };
  /// A thread's way through its tasks. With tiles what a block of sums becomes is computed behind the next
  /// block's products, which the tiles are still busy with by then.
  struct Progress {
    std::byte* scratch;
    std::int64_t rows_of = -1; ///< The block whose rows `scratch` holds.
    Sums waiting = {};
    std::int64_t products = 0; ///< Decides which memory the next sums take.
  };

  void read_weights(const Contraction& c, const Preparation& p, bool joined);
  void lay_out_slot();
  std::byte* scratch_of(const Launch& launch, std::int64_t slot) const {
    return static_cast<std::byte*>(launch.workspace) + slot * slot_.total;
  }
  std::size_t padded_column(std::int64_t column) const {
    return static_cast<std::size_t>(column / group_columns_ * blocking_.panels * functions_.width +
                                    column % group_columns_);
  }
  /// Blocks of sums that wait at once.
  std::int64_t sum_blocks() const { return functions_.whole_rows > 1 ? 2 : 1; }
  std::int64_t image_bytes() const { return rounded_up(images_->bytes(blocking_.lines), cache_line); }
  Task task_of(std::int64_t number) const;
  void choose_rows(std::int64_t block, Task& task) const;
  std::int64_t first_gathered(std::int64_t first_row, std::int64_t last_row) const;
  void run(const Launch& launch, std::int64_t number, Progress& progress) const;
  void read_rows(const Launch& launch, const Task& task, int zero, std::byte* scratch) const;
  void run_panels(const Launch& launch, const Task& task, std::int64_t panel, std::int64_t panels, int zero,
                  Progress& progress) const;
  void run_rows(const Launch& launch, const Task& task, PanelGroup& group, Progress& progress) const;
  void run_images(const Launch& launch, const Task& task, PanelGroup& group, Progress& progress) const;
  std::int32_t* multiply(const Strip& strip, PanelGroup& group, Progress& progress) const;
  void finish_later(const Launch& launch, const Sums& sums, Progress& progress) const;
  void finish(const Launch& launch, const Sums& sums, std::byte* scratch) const;
  void finish_lines(const Launch& launch, const Sums& sums, std::byte* scratch) const;
  std::int64_t ahead_step(std::int64_t strips) const;
  void add_weight_zeros(const std::int32_t* row_sums, std::int64_t rows, std::int64_t column,
                        std::int64_t columns, std::int32_t* sums) const;
  int zero_of(const Launch& launch) const;
  /// x's zero point in rows of quads, which have i8 shifted by 128.
  int shift_of(int zero) const { return x_.is_signed() ? zero + 128 : zero; }
  std::int32_t row_sum(const std::byte* x, const Task& task, std::int64_t row, int zero,
                       const std::byte* scratch) const;
  const std::byte* panels_of(const Launch& launch) const {
    return copy_.empty() ? static_cast<const std::byte*>(launch.inputs[weights_]) : copy_.data();
  }
  void write(const Launch& launch, std::int32_t* sums, const ResultPiece& piece, std::byte* scratch) const;

  const BlockFunctions& functions_;
  BlockMultiply multiply_;
  RowGather gather_;
  std::optional<ImageRows> images_;      ///< Then nothing is gathered.
  std::optional<EpilogueRows> epilogue_; ///< None: the result is the sums.
  StoredBytes x_;
  Operand x_zero_;
  std::size_t weights_;
  std::int64_t rows_, groups_, group_columns_, columns_, depth_;
  std::int64_t line_steps_ = 0, window_lines_ = 1; ///< Of a row.
  std::int64_t panel_bytes_ = 0, sums_stride_ = 0, out_distance_ = 0;
  Blocking blocking_;
  Slot slot_;
  int slots_ = 1, tile_rows_ = 1;
  std::vector<std::byte> copy_; ///< Of the weights; empty: they are used in place.
  /// By padded column: sums of weights that a row's zero point multiplies, and zero points of the weights.
  std::vector<std::int32_t> column_sums_, weight_zeros_;
  std::vector<float> bias_; ///< Of reals, by padded column.
};

ContractionKernel::ContractionKernel(const Contraction& c, const Preparation& p,
                                     const BlockFunctions& functions)
    : functions_(functions), multiply_(functions.multiply(c.has_signed_weights())), x_(c.x),
      x_zero_(c.x_zero), weights_(c.weights.index), rows_(c.rows()), groups_(c.groups),
      group_columns_(c.group_columns()), columns_(c.columns()), depth_(c.depth()) {
  const std::int64_t distance =
      functions.element * row_distance(p.tactic.inputs.at(c.x.operand.index), c.channels() * c.groups);
  const bool copied = panel_form(c, functions).copied;
  const bool joined = c.conv && c.window.dilations[1] == 1 && (copied || c.channels() % functions.unit == 0);
  gather_ = RowGather(c, functions, distance, joined);
  panel_bytes_ = gather_.steps() * functions.step_bytes();
  line_steps_ = gather_.steps();
  tile_rows_ = functions.whole_rows;
  const ConfigText config(p.tactic.config);
  if (row_form_of(config) == RowForm::shared) {
    images_.emplace(c, functions, distance);
    line_steps_ = images_->steps();
    window_lines_ = images_->window_lines();
    tile_rows_ = images_->tile_rows();
  }
  const int threads = std::clamp(static_cast<int>(config.integer("threads")), 1, p.target.threads);
  blocking_ = images_ ? shared_blocking(c, functions, *images_, threads)
                      : gathered_blocking(c, functions, gather_, threads);
  slots_ = static_cast<int>(std::min<std::int64_t>(threads, blocking_.tasks(groups_)));
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
  if (c.reals()) {
    const std::vector<double> bias =
        column_numbers(c.bias, columns_, c.bias ? prepared_constant(c.bias, p) : nullptr);
    bias_.assign(static_cast<std::size_t>(all * width), 0.0F);
    for (std::int64_t column = 0; column < columns_; ++column)
      bias_[padded_column(column)] = static_cast<float>(bias[static_cast<std::size_t>(column)]);
  }
  const int less = functions_.quads() && c.shifts_weights() ? 128 : 0;
  if (!c.has_weight_zeros() && less == 0) return;
  const std::vector<double> zeros =
      column_numbers(c.weight_zero, columns_, c.weight_zero ? prepared_constant(c.weight_zero, p) : nullptr);
  // Weights of u8 whose zero points are 128 have none when they are shifted.
  if (std::ranges::all_of(zeros, [&](double zero) { return zero == less; })) return;
  weight_zeros_.assign(static_cast<std::size_t>(all * width), 0);
  for (std::int64_t column = 0; column < columns_; ++column)
    weight_zeros_[padded_column(column)] =
        static_cast<std::int32_t>(zeros[static_cast<std::size_t>(column)]) - less;
}

void ContractionKernel::lay_out_slot() {
  const std::int64_t width = functions_.width;
  sums_stride_ = blocking_.group_panels * width;
  const std::int64_t rows = images_ ? blocking_.images * image_bytes() : blocking_.rows * gather_.row_bytes();
  slot_.row_sums = rounded_up(rows, cache_line);
  slot_.start = slot_.row_sums + rounded_up(4 * blocking_.rows, cache_line);
  slot_.sums = slot_.start + 4 * sums_stride_;
  slot_.operand = slot_.sums + 4 * sums_stride_ * functions_.max_rows * sum_blocks();
  slot_.next = slot_.operand + rounded_up(4 * sums_stride_, cache_line);
  slot_.total = slot_.next + cache_line;
}

ContractionKernel::Task ContractionKernel::task_of(std::int64_t number) const {
  const std::int64_t part = number % blocking_.parts, rest = number / blocking_.parts;
  const auto edge = [&](std::int64_t i) { return i * blocking_.panels / blocking_.parts; };
  Task task{};
  task.block = rest;
  task.group = rest / blocking_.blocks;
  task.first_panel = edge(part);
  task.last_panel = edge(part + 1);
  choose_rows(rest % blocking_.blocks, task);
  return task;
}

void ContractionKernel::choose_rows(std::int64_t block, Task& task) const {
  if (!images_) {
    task.first_row = block * blocking_.rows;
    task.last_row = std::min(rows_, task.first_row + blocking_.rows);
    task.first_gathered = first_gathered(task.first_row, task.last_row);
    task.strips = quotient_up(task.last_row - task.first_row, functions_.max_rows);
    return;
  }
  const std::int64_t cuts = quotient_up(images_->lines(), blocking_.lines);
  task.first_image = block / cuts * blocking_.images;
  task.last_image = std::min(images_->images(), task.first_image + blocking_.images);
  task.first_line = block % cuts * blocking_.lines;
  task.last_line = std::min(images_->lines(), task.first_line + blocking_.lines);
  const std::int64_t tiles = images_->tiles(task.last_line - task.first_line);
  task.strips = (task.last_image - task.first_image) * quotient_up(tiles, 2);
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

void ContractionKernel::run(const Launch& launch, std::int64_t number, Progress& progress) const {
  const Task task = task_of(number);
  const int zero = zero_of(launch);
  if (progress.rows_of != task.block) read_rows(launch, task, zero, progress.scratch);
  progress.rows_of = task.block;
  for (std::int64_t panel = task.first_panel; panel < task.last_panel; panel += blocking_.group_panels)
    run_panels(launch, task, panel, std::min(blocking_.group_panels, task.last_panel - panel), zero,
               progress);
  finish(launch, std::exchange(progress.waiting, {}), progress.scratch);
}

void ContractionKernel::read_rows(const Launch& launch, const Task& task, int zero,
                                  std::byte* scratch) const {
  const auto* x = static_cast<const std::byte*>(launch.inputs[x_.operand.index]);
  for (std::int64_t image = task.first_image; image < task.last_image; ++image)
    images_->copy(x, image, task.first_line, task.last_line, zero,
                  scratch + (image - task.first_image) * image_bytes());
  if (images_) return;
  gather_.gather(x, task.group, task.first_gathered, task.last_row, zero, scratch);
  if (weight_zeros_.empty()) return;
  auto* const row_sums = reinterpret_cast<std::int32_t*>(scratch + slot_.row_sums);
  for (std::int64_t row = task.first_row; row < task.last_row; ++row)
    row_sums[row - task.first_row] = row_sum(x, task, row, zero, scratch);
}

/// The sum of a row's numbers less x's zero point.
std::int32_t ContractionKernel::row_sum(const std::byte* x, const Task& task, std::int64_t row, int zero,
                                        const std::byte* scratch) const {
  const std::byte* const from = row < task.first_gathered
                                    ? gather_.row_in_place(x, task.group, row)
                                    : scratch + (row - task.first_gathered) * gather_.row_bytes();
  if (!functions_.quads()) {
    const auto* numbers = reinterpret_cast<const std::int16_t*>(from);
    return std::accumulate(numbers, numbers + 2 * gather_.steps(), 0);
  }
  return gather_.byte_sum(from) - static_cast<std::int32_t>(depth_) * shift_of(zero);
}

void ContractionKernel::run_panels(const Launch& launch, const Task& task, std::int64_t panel,
                                   std::int64_t panels, int zero, Progress& progress) const {
  const std::int64_t width = functions_.width, at = task.group * blocking_.panels + panel;
  auto* const start = reinterpret_cast<std::int32_t*>(progress.scratch + slot_.start);
  const int shift = shift_of(zero);
  const auto first = static_cast<std::size_t>(at * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(panels * width); ++i)
    start[i] = !bias_.empty()         ? std::bit_cast<std::int32_t>(bias_[first + i])
               : column_sums_.empty() ? 0
                                      : -shift * column_sums_[first + i];
  const std::byte* const weights = panels_of(launch) + at * panel_bytes_;
  // The next panels, in equal parts by each product of these.
  PanelGroup group{panels,
                   task.group * group_columns_ + panel * width,
                   std::min(panels * width, group_columns_ - panel * width),
                   at * width,
                   weights,
                   weights + panels * panel_bytes_,
                   ahead_step(task.strips)};
  images_ ? run_images(launch, task, group, progress) : run_rows(launch, task, group, progress);
}

void ContractionKernel::run_rows(const Launch& launch, const Task& task, PanelGroup& group,
                                 Progress& progress) const {
  const auto* x = static_cast<const std::byte*>(launch.inputs[x_.operand.index]);
  const std::byte* const scratch = progress.scratch;
  for (std::int64_t row = task.first_row; row < task.last_row; row += functions_.max_rows) {
    const std::int64_t rows = std::min<std::int64_t>(functions_.max_rows, task.last_row - row);
    const bool in_place = row < task.first_gathered;
    const std::int64_t distance = in_place ? gather_.distance() : gather_.row_bytes();
    const Strip strip{in_place ? gather_.row_in_place(x, task.group, row)
                               : scratch + (row - task.first_gathered) * distance,
                      distance, tile_rows_ * distance, rows};
    std::int32_t* const sums = multiply(strip, group, progress);
    if (!weight_zeros_.empty())
      add_weight_zeros(reinterpret_cast<const std::int32_t*>(scratch + slot_.row_sums) + row - task.first_row,
                       rows, group.padded_column, group.panels * functions_.width, sums);
    finish_later(launch, {sums, row, rows, group.column, group.columns}, progress);
  }
}

void ContractionKernel::run_images(const Launch& launch, const Task& task, PanelGroup& group,
                                   Progress& progress) const {
  const std::int64_t lines = task.last_line - task.first_line, tiles = images_->tiles(lines);
  for (std::int64_t image = task.first_image; image < task.last_image; ++image) {
    const std::byte* const pixels = progress.scratch + (image - task.first_image) * image_bytes();
    const std::int64_t row = (image * images_->lines() + task.first_line) * images_->width();
    for (std::int64_t tile = 0; tile < tiles; tile += 2) {
      const std::int64_t start = images_->tile_start(tile), count = std::min<std::int64_t>(2, tiles - tile);
      const Strip strip{pixels + start, images_->row_bytes(), images_->tile_start(tile + 1) - start,
                        count * tile_rows_};
      std::int32_t* const sums = multiply(strip, group, progress);
      finish_later(launch, {sums, row, count, group.column, group.columns, tile, lines}, progress);
    }
  }
}

/// Returns the sums.
std::int32_t* ContractionKernel::multiply(const Strip& strip, PanelGroup& group, Progress& progress) const {
  const std::int64_t width = functions_.width, steps = window_lines_ * line_steps_;
  auto* const sums = reinterpret_cast<std::int32_t*>(progress.scratch + slot_.sums) +
                     progress.products++ % sum_blocks() * sums_stride_ * functions_.max_rows;
  BlockProduct one{strip.rows,
                   strip.row_bytes,
                   tile_rows_,
                   strip.tile_distance,
                   group.weights,
                   line_steps_,
                   window_lines_,
                   images_ ? images_->window_line_bytes() : 0,
                   reinterpret_cast<const std::int32_t*>(progress.scratch + slot_.start),
                   sums,
                   sums_stride_,
                   false,
                   group.ahead,
                   group.ahead_step};
  for (std::int64_t i = 0; i < group.panels; ++i) {
    one.half = group.columns - i * width <= width / 2;
    multiply_(one, static_cast<int>(strip.count));
    one.panel += panel_bytes_;
    one.ahead += group.ahead_step * (steps / functions_.whole_steps);
    one.start += width;
    one.sums += width;
  }
  group.ahead = one.ahead;
  return sums;
}

void ContractionKernel::finish_later(const Launch& launch, const Sums& sums, Progress& progress) const {
  const bool waits = sum_blocks() > 1;
  finish(launch, waits ? progress.waiting : sums, progress.scratch);
  if (waits) progress.waiting = sums;
}

void ContractionKernel::finish(const Launch& launch, const Sums& sums, std::byte* scratch) const {
  if (sums.sums == nullptr) return;
  if (images_) return finish_lines(launch, sums, scratch);
  write(launch, sums.sums, {sums.row, sums.count, sums.column, sums.columns}, scratch);
}

void ContractionKernel::finish_lines(const Launch& launch, const Sums& sums, std::byte* scratch) const {
  for (std::int64_t i = 0; i < sums.count; ++i) {
    std::int32_t* const tile = sums.sums + i * tile_rows_ * sums_stride_;
    images_->each_run(sums.tile + i, sums.lines,
                      [&](std::int64_t row, std::int64_t result, std::int64_t count) {
                        write(launch, tile + row * sums_stride_,
                              {sums.row + result, count, sums.column, sums.columns}, scratch);
                      });
  }
}

/// Bytes that each step of each product fetches, so that a task with so many strips fetches a panel for a
/// panel.
std::int64_t ContractionKernel::ahead_step(std::int64_t strips) const {
  return rounded_up(quotient_up(functions_.step_bytes() * functions_.whole_steps, strips), cache_line);
}

/// sum of x (w - zero) = sum of x w - zero * sum of x.
void ContractionKernel::add_weight_zeros(const std::int32_t* row_sums, std::int64_t rows, std::int64_t column,
                                         std::int64_t columns, std::int32_t* sums) const {
  for (std::int64_t r = 0; r < rows; ++r)
    functions_.take_zeros(weight_zeros_.data() + column, row_sums[r], columns, sums + r * sums_stride_);
}

void ContractionKernel::write(const Launch& launch, std::int32_t* sums, const ResultPiece& piece,
                              std::byte* scratch) const {
  auto* const operand = reinterpret_cast<float*>(scratch + slot_.operand);
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
  const ConfigText config(p.tactic.config);
  const std::string name = config.text("by");
  const auto all = c->reals() ? all_bf16_functions() : all_int8_functions();
  const auto found = std::ranges::find_if(all, [&](const BlockFunctions* f) { return f->name == name; });
  check(found != all.end(), ErrorCode::unsupported, "cpu: {}: this processor has no {}: build the plan again",
        p.tactic.kernel, name);
  const std::string refusal = contraction_refusal(*c, **found);
  check_taken(refusal.empty(), p, refusal);
  check_taken(row_form_of(config) == RowForm::gathered || can_share_pixels(*c, **found), p,
              "rows share no pixels here");
  const Layout wanted = panel_form(*c, **found).layout;
  const Layout& given = p.tactic.inputs.at(c->weights.index).layout;
  check(given == wanted, ErrorCode::unsupported,
        "cpu: {}: the weights' layout is {}, {} needs {}: build the plan again", p.tactic.kernel,
        given.to_string(), name, wanted.to_string());
  return std::make_unique<ContractionKernel>(*c, p, **found);
}

} // namespace lanner
