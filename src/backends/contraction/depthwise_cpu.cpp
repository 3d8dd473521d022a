// Depthwise convolutions of 8-bit integers, channels last. Lines of the image become floats, less the zero
// point, for as many channels as two vectors have; sums of their products with the weights are exact.

#include <algorithm>
#include <cstring>

#include "backends/config_text.h"
#include "backends/contraction/contraction_kernel.h"
#include "backends/contraction/epilogue_rows.h"
#include "backends/contraction/task_shares.h"
#include "backends/estimate.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {
namespace {

/// Sums of so many products of at most 255 * 255 are exact in f32.
constexpr std::int64_t max_taps = 258;
/// Floats of the lines that a window covers: more would not stay in a cache.
constexpr std::int64_t max_line_floats = 1 << 20;

/// Floats that a thread's counter takes of its scratch memory, at its end: a cache line.
constexpr std::int64_t counter_floats = cache_line / static_cast<std::int64_t>(sizeof(float));

/// A window over lines of floats.
struct Lines {
  std::int64_t length; ///< Pixels of a line, padding included.
  std::int64_t held;   ///< Lines that are held at once.

  static Lines of(const ops::Window& w) {
    const auto extent = [&](std::size_t axis) { return (w.kernel[axis] - 1) * w.dilations[axis] + 1; };
    return {(w.positions[1] - 1) * w.strides[1] + extent(1), std::min(extent(0), w.image[0])};
  }
  std::int64_t floats(std::int64_t width) const { return (held + 1) * length * width; }
};

std::optional<Contraction> depthwise_of(const Group& group, std::string& reason) {
  auto c = contraction_of(group, true, reason);
  if (!c || !c->depthwise()) return std::nullopt;
  if (c->x_zero) {
    reason = "depthwise: supports constant zero points";
    return std::nullopt;
  }
  const Lines lines = Lines::of(c->window);
  if (c->window.taps() <= max_taps && lines.length <= max_line_floats && lines.held <= max_line_floats &&
      lines.floats(64) <= max_line_floats)
    return c;
  reason = "depthwise: the window is too large";
  return std::nullopt;
}

class DepthwiseKernel final : public Kernel {
public:
  DepthwiseKernel(const Contraction& c, const Preparation& p, int threads);

  std::size_t workspace() const override {
    return static_cast<std::size_t>(slots_) * static_cast<std::size_t>(slot_floats_) * sizeof(float);
  }

  void launch(const Launch& launch) const override {
    auto* const scratch = static_cast<float*>(launch.workspace);
    const TaskShares shares(slots_, images_ * bands_ * blocks_, scratch + slot_floats_ - counter_floats,
                            slot_floats_ * static_cast<std::int64_t>(sizeof(float)));
    parallel_for(slots_, 0, slots_, 1, [&](std::int64_t slot, std::int64_t) {
      while (const auto task = shares.take(slot)) run(launch, *task, scratch + slot * slot_floats_);
    });
  }

private:
  void read_weights(const Contraction& c, const Preparation& p);
  void run(const Launch& launch, std::int64_t task, float* scratch) const;
  void fill_line(const std::byte* image, std::int64_t y, std::int64_t channel, float* line) const;
  void run_line(const std::byte* image, std::int64_t y, std::int64_t block, std::int64_t& next,
                float* scratch, float* sums) const;

  const BlockFunctions& functions_;
  StoredBytes x_;
  ops::Window window_;
  Lines lines_;
  std::int64_t images_, channels_, distance_, width_, blocks_, bands_ = 1;
  std::int64_t together_; ///< Lines whose results are written together.
  std::int64_t line_floats_, slot_floats_;
  int slots_;
  std::vector<float> weights_; ///< By block of channels, tap and channel.
  EpilogueRows epilogue_;
};

std::int64_t padded_channels(const Contraction& c, const BlockFunctions& functions) {
  return rounded_up(c.columns(), functions.width);
}

DepthwiseKernel::DepthwiseKernel(const Contraction& c, const Preparation& p, int threads)
    : functions_(int8_functions(false)), x_(c.x), window_(c.window), lines_(Lines::of(c.window)),
      images_(c.input[0]), channels_(c.columns()),
      distance_(row_distance(p.tactic.inputs.at(c.x.operand.index), channels_)), width_(functions_.width),
      blocks_(padded_channels(c, functions_) / width_),
      together_(std::max<std::int64_t>(1, 64 / c.window.positions[1])), line_floats_(lines_.length * width_),
      epilogue_(c, p, functions_, padded_channels(c, functions_),
                row_distance(p.tactic.outputs.at(0), channels_)) {
  // Several tasks for each thread, of some lines each: the first ones of a task are filled by two tasks.
  constexpr std::int64_t least_lines = 8;
  const std::int64_t wanted = threads > 1 ? 4 * threads : 1, have = images_ * blocks_;
  if (have < wanted)
    bands_ = std::clamp<std::int64_t>(window_.positions[0] / least_lines, 1, (wanted + have - 1) / have);
  slots_ = static_cast<int>(std::min<std::int64_t>(threads, have * bands_));
  const std::int64_t floats = lines_.floats(width_) + (together_ * window_.positions[1] + 1) * width_;
  slot_floats_ = rounded_up(floats, counter_floats) + counter_floats;
  read_weights(c, p);
}

void DepthwiseKernel::read_weights(const Contraction& c, const Preparation& p) {
  const std::int64_t taps = window_.taps();
  weights_.assign(static_cast<std::size_t>(blocks_ * taps * width_), 0.0F);
  const std::vector<double> stored =
      column_numbers(c.weights, channels_ * taps, prepared_constant(c.weights, p));
  const std::vector<double> zeros =
      column_numbers(c.weight_zero, channels_, c.weight_zero ? prepared_constant(c.weight_zero, p) : nullptr);
  for (std::int64_t channel = 0; channel < channels_; ++channel)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      weights_[static_cast<std::size_t>((channel / width_ * taps + tap) * width_ + channel % width_)] =
          static_cast<float>(stored[static_cast<std::size_t>(channel * taps + tap)] -
                             zeros[static_cast<std::size_t>(channel)]);
}

void DepthwiseKernel::run(const Launch& launch, std::int64_t task, float* scratch) const {
  const std::int64_t block = task % blocks_, rest = task / blocks_, band = rest % bands_, n = rest / bands_;
  const std::int64_t lines = window_.positions[0], pixels = window_.positions[1];
  const auto* image = static_cast<const std::byte*>(launch.inputs[x_.operand.index]) +
                      n * window_.image_elements() * distance_;
  std::fill_n(scratch, lines_.floats(width_), 0.0F);
  float* const sums = scratch + lines_.floats(width_);
  const std::int64_t last = (band + 1) * lines / bands_;
  std::int64_t next = 0;
  for (std::int64_t y = band * lines / bands_; y < last; y += together_) {
    const std::int64_t count = std::min(together_, last - y);
    for (std::int64_t i = 0; i < count; ++i)
      run_line(image, y + i, block, next, scratch, sums + i * pixels * width_);
    const ResultPiece piece{(n * lines + y) * pixels, count * pixels, block * width_,
                            std::min(width_, channels_ - block * width_)};
    epilogue_.write(launch, sums, width_, piece, sums + together_ * pixels * width_);
  }
}

/// The part of a line inside of the image; its padding is zero already.
void DepthwiseKernel::fill_line(const std::byte* image, std::int64_t y, std::int64_t channel,
                                float* line) const {
  const std::int64_t before = window_.begin[1];
  const std::int64_t count = std::min(window_.image[1], lines_.length - before);
  if (count <= 0) return;
  functions_.to_floats({image + y * window_.image[1] * distance_ + channel, distance_, count,
                        std::min(width_, channels_ - channel), x_.is_signed(), x_.by.zero},
                       line + before * width_);
}

/// `next`: the first line of the image that was not needed so far.
void DepthwiseKernel::run_line(const std::byte* image, std::int64_t y, std::int64_t block, std::int64_t& next,
                               float* scratch, float* sums) const {
  const std::int64_t top = y * window_.strides[0] - window_.begin[0], height = window_.image[0];
  const std::int64_t bottom = top + (window_.kernel[0] - 1) * window_.dilations[0];
  for (next = std::max(next, top); next <= std::min(bottom, height - 1); ++next)
    fill_line(image, next, block * width_, scratch + next % lines_.held * line_floats_);
  const float* rows[max_taps];
  for (std::int64_t i = 0; i < window_.kernel[0]; ++i) {
    const std::int64_t line = top + i * window_.dilations[0];
    const bool inside = line >= 0 && line < height;
    rows[i] = scratch + (inside ? line % lines_.held : lines_.held) * line_floats_;
  }
  functions_.depthwise({rows, weights_.data() + block * window_.taps() * width_, window_.kernel[0],
                        window_.kernel[1], window_.dilations[1] * width_, window_.strides[1] * width_,
                        window_.positions[1], sums});
}

double seconds_on(int threads, const Contraction& c, const Target& target) {
  constexpr double of_element = 9, share = 0.6; // Of an element of x, and of the peak: measured.
  const double in = static_cast<double>(c.input.elements()), out = static_cast<double>(c.output.elements());
  return seconds_of({.operations = c.operations() / share + of_element * in + epilogue_operations(c) * out,
                     .bytes = in + out * static_cast<double>(bit_width(c.type)) / 8,
                     .threads = threads},
                    target);
}

TacticList depthwise_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto c = depthwise_of(group, list.reason);
  if (!c || c->type == DType::i32) return list;
  auto tactic = contraction_tactic(node, *c, int8_functions(false), "int8_depthwise");
  if (!tactic) return list;
  tactic->inputs[c->weights.index] = {};
  const int threads = seconds_on(1, *c, target) < 5e-6 ? 1 : target.threads;
  tactic->config = ConfigText().set("threads", threads).bytes();
  tactic->estimate = seconds_on(threads, *c, target);
  list.tactics.push_back(std::move(*tactic));
  return list;
}

std::unique_ptr<Kernel> depthwise_prepare(const Preparation& p) {
  std::string reason;
  const auto c = depthwise_of(p.group, reason);
  check_taken(c && c->type != DType::i32, p, reason);
  check(p.tactic.inputs.at(c->weights.index).layout.row_major(), ErrorCode::unsupported,
        "cpu: int8_depthwise: the weights must be row-major: build the plan again");
  const auto threads = static_cast<int>(ConfigText(p.tactic.config).integer("threads"));
  return std::make_unique<DepthwiseKernel>(*c, p, std::clamp(threads, 1, p.target.threads));
}

} // namespace

extern const KernelFamily int8_depthwise_family{"int8_depthwise", KernelTrust::own(), depthwise_tactics,
                                                depthwise_prepare};

} // namespace lanner
