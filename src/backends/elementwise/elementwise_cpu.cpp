// The kernel that runs groups of elementwise operations, for any one layout.

#include <algorithm>
#include <array>

#include "backends/cpu/bf16.h"
#include "backends/cpu/layouts.h"
#include "backends/cpu/stored_types.h"
#include "backends/elementwise/cpu_cost.h"
#include "backends/elementwise/instruction.h"
#include "backends/elementwise/integer_tiles.h"
#include "backends/elementwise/program.h"
#include "backends/elementwise/tiles.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/cpu.h"
#include "device/parallel.h"
#include "graph/storage/within.h"
#include "tensor/cast.h"

namespace lanner {

namespace {

/// Floats per tile: with all registers of a program this stays in the L1 cache.
constexpr std::int64_t tile_size = 512;
constexpr int max_slots = 48;

/// A value stored as regular slices of a larger value.
struct SliceWalk {
  std::int64_t length = 0, pitch = 0; ///< In elements; length 0: contiguous.

  static SliceWalk of(const Storage& storage, const Shape& shape, DType type) {
    const auto element = static_cast<std::int64_t>(bit_width(type) / 8);
    if (element == 0) return {}; // types below a byte are not sliced
    const MemorySlices slices = memory_slices_of(storage, shape, type);
    return {static_cast<std::int64_t>(slices.bytes) / element,
            static_cast<std::int64_t>(slices.pitch) / element};
  }
  explicit operator bool() const { return length > 0; }
  std::int64_t place(std::int64_t i) const { return i / length * pitch + i % length; }
  bool is_one(std::int64_t first, std::int64_t count) const {
    return first / length == (first + count - 1) / length;
  }
  /// Calls `piece(offset in memory, offset from first, elements)` for each contiguous part.
  template<typename Piece>
  void pieces(std::int64_t first, std::int64_t count, const Piece& piece) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t i = first + done, size = std::min(length - i % length, count - done);
      piece(place(i), done, size);
      done += size;
    }
  }
};

struct Source {
  enum class Way : std::uint8_t {
    direct,   ///< Read in place.
    periodic, ///< Read in place, from the start again after each period.
    once,     ///< One tile serves all.
    fetched,  ///< Each tile is gathered.
    cast,     ///< Each tile is converted.
  };
  Way way = Way::direct;
  OperandWalk walk;
  ProgramInput input;
  SliceWalk slices; ///< Of an operand that is stored within a larger value.
};

/// The tile size: whole periods of the operands that repeat within a tile, or a divisor of a longer period.
std::int64_t choose_step(const std::vector<Source>& sources) {
  std::int64_t step = tile_size;
  for (const Source& source : sources) {
    const std::int64_t period = source.walk.period();
    if (source.way != Source::Way::once || source.walk.scalar()) continue;
    if (period <= step) step -= step % period;
  }
  for (const Source& source : sources) {
    if (source.way != Source::Way::periodic) continue;
    std::int64_t divisor = std::min(step, source.walk.period());
    while (source.walk.period() % divisor != 0) --divisor;
    if (divisor >= tile_size / 4) step = divisor;
  }
  return step;
}

/// Whether an operand or result packs several elements into a byte.
bool has_packed_types(const ElementwiseProgram& program) {
  const auto packed = [](const auto& value) { return bit_width(value.dtype) < 8; };
  return std::ranges::any_of(program.inputs, packed) || std::ranges::any_of(program.outputs, packed);
}

class ElementwiseKernel final : public Kernel {
public:
  ElementwiseKernel(ElementwiseProgram program, const Tactic& tactic, int threads)
      : program_(std::move(program)), layout_(tactic.outputs.at(0).layout), threads_(threads),
        total_(layout_.padded(program_.shape).elements()) {
    for (const ProgramInput& input : program_.inputs) {
      const OperandWalk walk(program_.shape, layout_, input.shape);
      sources_.push_back({way_of(walk, input), walk, input, {}});
      if (input.operand.is_input())
        sources_.back().slices =
            SliceWalk::of(tactic.inputs.at(input.operand.index), program_.shape, input.dtype);
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      results_.push_back(SliceWalk::of(tactic.outputs.at(i), program_.shape, program_.outputs[i].dtype));
    step_ = has_packed_types(program_) ? tile_size : choose_step(sources_); // tiles begin at whole bytes
    for (Source& source : sources_) settle(source);
    const double grain =
        4000 / nanoseconds_of(program_); // About four microseconds of work justify waking a thread.
    grain_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(grain) / step_);
  }

  void launch(const Launch& launch) const override {
    parallel_for(threads_, 0, (total_ + step_ - 1) / step_, grain_,
                 [&](std::int64_t begin, std::int64_t end) { run(launch, begin, end); });
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      clear_padding(launch.outputs[i], layout_, program_.shape, bit_width(program_.outputs[i].dtype) / 8);
  }

private:
  using Tiles = float[][tile_size];

  Source::Way way_of(const OperandWalk& walk, const ProgramInput& input) const {
    if (walk.contiguous()) return input.dtype == DType::f32 ? Source::Way::direct : Source::Way::cast;
    if (walk.scalar() || walk.period() <= tile_size) return Source::Way::once;
    return walk.contiguous_in_period() && input.dtype == DType::f32 ? Source::Way::periodic
                                                                    : Source::Way::fetched;
  }

  /// Once the step is known, operands whose period does not fit it are gathered tile by tile.
  void settle(Source& source) const {
    const std::int64_t period = source.walk.period();
    const bool fits =
        source.way == Source::Way::once ? source.walk.scalar() || step_ % period == 0 : period % step_ == 0;
    if ((source.way == Source::Way::once || source.way == Source::Way::periodic) && !fits)
      source.way = Source::Way::fetched;
  }

  static const void* bytes_of(const Source& source, const Launch& launch) {
    const Operand& operand = source.input.operand;
    return operand.is_input() ? launch.inputs[operand.index] : operand.constant->data();
  }

  static void fetch(const Source& source, const void* bytes, std::int64_t first, std::int64_t count,
                    float* tile) {
    const auto fetch_as = [&]<typename T>(const T* from) {
      source.walk.fetch(from, first, count, tile);
      const float zero = source.input.zero, scale = source.input.scale;
      if (zero != 0 || scale != 1)
        for (std::int64_t i = 0; i < count; ++i) tile[i] = (tile[i] - zero) * scale;
    };
    switch (source.input.dtype) {
    case DType::f32:
      return fetch_as(static_cast<const float*>(bytes));
    case DType::bf16:
      return fetch_as(static_cast<const Bf16*>(bytes));
    case DType::i8:
      return fetch_as(static_cast<const std::int8_t*>(bytes));
    case DType::u8:
      return fetch_as(static_cast<const std::uint8_t*>(bytes));
    case DType::i16:
      return fetch_as(static_cast<const std::int16_t*>(bytes));
    case DType::u16:
      return fetch_as(static_cast<const std::uint16_t*>(bytes));
    case DType::i32:
      return fetch_as(static_cast<const std::int32_t*>(bytes));
    default:
      return fetch_as(static_cast<const bool*>(bytes));
    }
  }

  /// Elements from the `first` one in memory on.
  static void convert(const ProgramInput& input, const std::byte* bytes, std::int64_t first,
                      std::int64_t count, float* tile) {
    const std::byte* const from = bytes + first * static_cast<std::int64_t>(bit_width(input.dtype)) / 8;
    if (const auto* integers = integer_tiles().of(input.dtype))
      integers->read(from, tile, count, input.zero, input.scale);
    else if (input.dtype == DType::bf16)
      bf16_functions().read(reinterpret_cast<const Bf16*>(from), tile, count);
    else
      cast_elements(input.dtype, from, DType::f32, tile, static_cast<std::size_t>(count));
  }

  static const float* gather(const Source& source, const std::byte* bytes, std::int64_t first,
                             std::int64_t count, float* tile) {
    if (source.input.dtype == DType::f32 && source.slices.is_one(first, count))
      return reinterpret_cast<const float*>(bytes) + source.slices.place(first);
    source.slices.pieces(first, count, [&](std::int64_t from, std::int64_t to, std::int64_t size) {
      convert(source.input, bytes, from, size, tile + to);
    });
    return tile;
  }

  const float* read(const Source& source, const Launch& launch, std::int64_t first, std::int64_t count,
                    float* tile) const {
    const void* bytes = bytes_of(source, launch);
    if (source.slices) return gather(source, static_cast<const std::byte*>(bytes), first, count, tile);
    switch (source.way) {
    case Source::Way::direct:
      return static_cast<const float*>(bytes) + first;
    case Source::Way::periodic:
      return static_cast<const float*>(bytes) + first % source.walk.period();
    case Source::Way::once:
      return tile;
    case Source::Way::fetched:
      fetch(source, bytes, first, count, tile);
      return tile;
    case Source::Way::cast:
      convert(source.input, static_cast<const std::byte*>(bytes), first, count, tile);
      return tile;
    }
    return tile;
  }

  void run(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    alignas(64) float tiles[max_slots][tile_size];
    const std::size_t inputs = sources_.size();
    for (std::size_t i = 0; i < inputs; ++i)
      if (sources_[i].way == Source::Way::once)
        fetch(sources_[i], bytes_of(sources_[i], launch), 0, std::min(step_, total_), tiles[i]);
    const TileFunctions functions = tile_functions();
    std::array<const float*, max_slots> slots;
    for (std::size_t i = inputs; i < static_cast<std::size_t>(program_.slots()); ++i) slots[i] = tiles[i];
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t first = tile * step_, count = std::min(step_, total_ - first);
      const auto tile_of = [&](int slot) { return result_tile(slot, launch, tiles, first); };
      for (std::size_t i = 0; i < inputs; ++i)
        slots[i] = read(sources_[i], launch, first, count,
                        reads_directly(i) ? tile_of(static_cast<int>(i)) : tiles[i]);
      for (const TileInstruction& instruction : program_.instructions) {
        const auto operand = [&](int i) {
          return instruction.operands[i] < 0 ? nullptr
                                             : slots[static_cast<std::size_t>(instruction.operands[i])];
        };
        float* out =
            &instruction == &program_.instructions.back() ? tile_of(instruction.out) : tiles[instruction.out];
        functions[*instruction.formula](out, operand(0), operand(1), operand(2), count, instruction.numbers);
      }
      write(launch, slots.data(), first, count);
    }
  }

  /// Whether reading an input is all there is to do, tile by tile.
  bool reads_directly(std::size_t i) const {
    return program_.instructions.empty() && sources_[i].way != Source::Way::once;
  }

  /// Where the last step puts its results.
  float* result_tile(int slot, const Launch& launch, Tiles tiles, std::int64_t first) const {
    return writes_last_directly() && slot == program_.outputs[0].slot
               ? static_cast<float*>(launch.outputs[0]) + first
               : tiles[slot];
  }

  bool writes_last_directly() const {
    return program_.outputs.size() == 1 && program_.outputs[0].dtype == DType::f32 && !results_[0];
  }

  void write(const Launch& launch, const float* const* slots, std::int64_t first, std::int64_t count) const {
    if (writes_last_directly()) {
      const auto slot = static_cast<std::size_t>(program_.outputs[0].slot);
      if (program_.instructions.empty() && !reads_directly(slot))
        std::copy_n(slots[slot], count, static_cast<float*>(launch.outputs[0]) + first);
      return;
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const ProgramOutput& output = program_.outputs[i];
      const auto bits = static_cast<std::int64_t>(bit_width(output.dtype));
      const auto put = [&](std::int64_t to, std::int64_t from, std::int64_t size) {
        std::byte* const target = static_cast<std::byte*>(launch.outputs[i]) + to * bits / 8;
        if (output.quantized)
          integer_tiles()
              .of(output.dtype)
              ->write(slots[output.slot] + from, target, size, output.zero, output.scale);
        else if (output.dtype == DType::bf16)
          bf16_functions().write(slots[output.slot] + from, reinterpret_cast<Bf16*>(target), size);
        else
          cast_elements(DType::f32, slots[output.slot] + from, output.dtype, target,
                        static_cast<std::size_t>(size));
      };
      if (results_[i])
        results_[i].pieces(first, count, put);
      else
        put(first, 0, count);
    }
  }

  ElementwiseProgram program_;
  Layout layout_;
  int threads_;
  std::int64_t total_, step_ = tile_size, grain_ = 1;
  std::vector<Source> sources_;
  std::vector<SliceWalk> results_;
};

bool readable(const ElementwiseProgram& program, const Layout& layout) {
  if (program.slots() > max_slots || (has_packed_types(program) && !layout.row_major())) return false;
  for (const ProgramInput& input : program.inputs) {
    const OperandWalk walk(program.shape, layout, input.shape);
    const bool fetched = input.dtype == DType::f32 || input.dtype == DType::bf16 ||
                         input.dtype == DType::boolean || integer_tiles().of(input.dtype) != nullptr;
    if (!walk.contiguous() && !fetched) return false;
    // An inner constant is stored row-major.
    if (!input.operand.is_input() && !input.layout(layout, program.shape.rank()).row_major()) return false;
  }
  return true;
}

/// An input whose memory the first result may reuse: of the same type and shape and read once. Results are
/// written tile by tile, after all reads of a tile.
int replaceable(const ElementwiseProgram& program) {
  const ProgramOutput& first = program.outputs[0];
  if (first.dtype != DType::f32 && first.dtype != DType::bf16 && !first.quantized) return -1;
  for (const ProgramInput& input : program.inputs)
    if (input.operand.is_input() && !input.operand.constant && input.dtype == first.dtype &&
        input.shape == program.shape)
      return static_cast<int>(input.operand.index);
  return -1;
}

/// Whether a value of f32 may be stored in a narrower type: of the run, not a constant, whose type costs
/// nothing.
bool narrows(const ProgramInput& input) {
  return input.operand.is_input() && !input.operand.constant && input.dtype == DType::f32;
}

/// The program for values of f32 that are stored as `kept`; nothing where it has none.
std::optional<ElementwiseProgram> stored_as(ElementwiseProgram program, std::optional<DType> kept) {
  if (!kept) return program;
  bool any = false;
  for (ProgramInput& input : program.inputs)
    if (narrows(input)) {
      input.dtype = *kept;
      any = true;
    }
  for (ProgramOutput& output : program.outputs)
    if (output.dtype == DType::f32) {
      output.dtype = *kept;
      any = true;
    }
  return any ? std::optional(std::move(program)) : std::nullopt;
}

/// The program with the types that the tactic stores values in.
ElementwiseProgram stored_by(ElementwiseProgram program, const Tactic& tactic) {
  for (ProgramInput& input : program.inputs)
    if (narrows(input)) input.dtype = stored_type(tactic.inputs.at(input.operand.index), input.dtype);
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    program.outputs[i].dtype = stored_type(tactic.outputs.at(i), program.outputs[i].dtype);
  return program;
}

Tactic tactic_of(const ElementwiseProgram& program, const Node& node, const Layout& layout,
                 std::optional<DType> kept, const Target& target) {
  Tactic tactic;
  tactic.kernel = "elementwise";
  tactic.inputs.resize(node.inputs().size());
  for (const ProgramInput& input : program.inputs)
    if (input.operand.is_input())
      tactic.inputs[input.operand.index] =
          stored_as(input.layout(layout, program.shape.rank()),
                    input.dtype != input.operand.dtype() ? kept : std::nullopt);
  if (!has_packed_types(program)) take_strided(program, layout, tactic); // packed slices may share bytes
  share_storages(node, tactic);
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    tactic.outputs.push_back(
        stored_as(layout, program.outputs[i].dtype != node.output(i)->type.dtype() ? kept : std::nullopt));
  tactic.in_place = replaceable(program);
  const double elements = static_cast<double>(program.shape.elements());
  const double moving = seconds_of({.bytes = bytes_of(program), .threads = target.threads}, target);
  tactic.estimate = moving + elements * nanoseconds_of(program) * 1e-9 / target.threads;
  return tactic;
}

TacticList elementwise_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto plain = compile_elementwise(group, list.reason);
  if (!plain || plain->shape.elements() == 0) return list;
  for (const std::optional<DType> kept : stored_types(DType::f32, target)) {
    const auto program = stored_as(*plain, kept);
    if (!program) continue;
    for (const Layout& layout : offered_layouts(program->shape))
      if (readable(*program, layout)) list.tactics.push_back(tactic_of(*program, node, layout, kept, target));
  }
  return list;
}

std::unique_ptr<Kernel> elementwise_prepare(const Preparation& p) {
  std::string reason;
  auto program = compile_elementwise(p.group, reason);
  check_taken(program && program->shape.elements() > 0 && readable(*program, p.tactic.outputs.at(0).layout),
              p, reason);
  return std::make_unique<ElementwiseKernel>(stored_by(std::move(*program), p.tactic), p.tactic,
                                             p.target.threads);
}

bool elementwise_fuses(const Group& group, const Target&) {
  std::string reason;
  const auto program = compile_elementwise(group, reason);
  return program && readable(*program, {});
}

} // namespace

extern const KernelFamily elementwise_family{"elementwise", KernelTrust::own(), elementwise_tactics,
                                             elementwise_prepare, elementwise_fuses};

} // namespace lanner
