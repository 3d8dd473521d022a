// transpose, concat, slice, pad and their like, and reorders between layouts and types, as copies of boxes.

#include <algorithm>

#include "backends/cuda/box_kernel.h"
#include "backends/cuda/families.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/movement/places.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "graph/within.h"

namespace lanner::cuda {
namespace {

std::optional<BoxParameters> parameters_of(const Box& given) {
  const Box box = simplified(given);
  if (box.sizes.size() > max_box_axes) return std::nullopt;
  BoxParameters parameters;
  parameters.rank = static_cast<int>(box.sizes.size());
  parameters.elements = box.elements();
  std::copy(box.sizes.begin(), box.sizes.end(), parameters.sizes);
  std::copy(box.source_strides.begin(), box.source_strides.end(), parameters.source);
  std::copy(box.target_strides.begin(), box.target_strides.end(), parameters.target);
  return parameters;
}

/// One box with its kernel.
struct BoxCopy {
  std::size_t input = 0, output = 0;
  std::int64_t source_bytes = 0, target_bytes = 0; ///< Offsets of the box's first element.
  BoxParameters parameters;
  FunctionHandle function = nullptr;
  Grid grid;
};

class BoxKernel final : public Kernel {
public:
  BoxKernel(std::vector<BoxCopy> copies, std::uint64_t zeroed)
      : copies_(std::move(copies)), zeroed_(zeroed) {}

  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    if (zeroed_ > 0)
      check(driver().set_bytes(reinterpret_cast<DevicePointer>(launch.outputs[0]), 0, zeroed_,
                               static_cast<StreamHandle>(launch.stream.handle)),
            "cuMemsetD8Async");
    for (const BoxCopy& copy : copies_) {
      if (!launch.outputs[copy.output] || copy.parameters.elements == 0) continue;
      const void* source = static_cast<const std::byte*>(launch.inputs[copy.input]) + copy.source_bytes;
      void* target = static_cast<std::byte*>(launch.outputs[copy.output]) + copy.target_bytes;
      cuda::launch(copy.function, copy.grid, launch.stream, source, target, copy.parameters);
    }
  }

private:
  std::vector<BoxCopy> copies_;
  std::uint64_t zeroed_; ///< Bytes of output 0 that are cleared first.
};

BoxCopy make_copy(const Gpu& gpu, const Box& given, const char* function, std::size_t source_size,
                  std::size_t target_size) {
  const Box box = simplified(given);
  BoxCopy copy;
  copy.parameters = *parameters_of(given);
  copy.source_bytes = box.source_offset * static_cast<std::int64_t>(source_size);
  copy.target_bytes = box.target_offset * static_cast<std::int64_t>(target_size);
  copy.function = embedded_function(gpu, "boxes", function);
  copy.grid = grid_for(gpu, copy.parameters.elements);
  return copy;
}

double estimate_of(const Node& node, const Target& target) {
  double bytes = 0;
  for (const auto& output : node.outputs()) bytes += 1.5 * plain_bytes(*output);
  return seconds_of({.bytes = bytes}, target);
}

// --- Reorders on the device ---

DType stored_type(const Value& value) {
  return value.storage.dtype.value_or(value.type.dtype());
}

bool is_plain(const Storage& storage, const Target& target) {
  return storage.device == target.device && storage.layout.blocks.empty() && !storage.quantization;
}

std::string reorder_function(DType from, DType to) {
  if (from == to) return fmt::format("copy_box_{}", bit_width(from) / 8);
  return fmt::format("convert_box_{}_{}", suffix(from), suffix(to));
}

TacticList reorder_tactics(const Node& node, const Target& target) {
  TacticList list;
  const Storage &from = node.input(0)->storage, &to = node.output(0)->storage;
  const DType a = stored_type(*node.input(0)), b = stored_type(*node.output(0));
  if (!is_plain(from, target) || !is_plain(to, target)) return list;
  if (a != b && (!is_real(a) || !is_real(b))) return list;
  if (bit_width(a) < 8 || bit_width(a) > 64 || node.output()->type.shape().rank() > max_box_axes) return list;
  Tactic tactic;
  tactic.kernel = "movement";
  tactic.inputs = {from};
  tactic.outputs = {to};
  tactic.strided_inputs = tactic.strided_outputs = {AxisSet::all()};
  tactic.estimate = estimate_of(node, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> prepare_reorder(const Preparation& p, const Gpu& gpu) {
  const Shape shape = p.node.output()->type.shape();
  const DType a = stored_type(*p.node.input(0)), b = stored_type(*p.node.output(0));
  const Box box{{shape.begin(), shape.end()},
                memory_strides(p.tactic.inputs.at(0), shape),
                memory_strides(p.tactic.outputs.at(0), shape)};
  const std::string function = reorder_function(a, b);
  return std::make_unique<BoxKernel>(
      std::vector{make_copy(gpu, box, function.c_str(), bit_width(a) / 8, bit_width(b) / 8)}, 0);
}

// --- Operators ---

/// Moves that the kernels have axes for.
std::optional<Moves> moves_on_gpu(const GroupOp& op, const Places& places) {
  auto moves = moves_at(op, places);
  if (op.kind() == "pad" && moves && moves->moves.size() > 1) return std::nullopt; // taps.cpp launches once.
  if (moves && !std::ranges::all_of(moves->moves,
                                    [](const Move& move) { return parameters_of(move.box).has_value(); }))
    return std::nullopt;
  return moves;
}

std::vector<Places> offered_places(const GroupOp& op) {
  std::vector<Places> places = even_places(op);
  // In other layouts a transpose is a view, or moves as this one does.
  if (op.kind() == "transpose") places.resize(1);
  return places;
}

/// A fill other than zero has no kernel yet: the value would have to be written first.
bool fills(const Moves& moves) {
  return !moves.fill || !moves.fill_value || scalar_value(moves.fill_value.constant) == 0.0F;
}

TacticList movement_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (node.kind() == "reorder") return reorder_tactics(node, target);
  if (!moves_whole_elements(group)) return list;
  const GroupOp& op = group.ops().front();
  for (const std::optional<DType> kept : kept_types(op.type().dtype(), target)) {
    for (const Places& places : offered_places(op)) {
      const auto moves = moves_on_gpu(op, places);
      if (!moves || !fills(*moves)) continue;
      Tactic tactic;
      tactic.kernel = "movement";
      tactic.inputs.resize(node.inputs().size());
      for (std::size_t i = 0; i < places.inputs.size(); ++i)
        tactic.inputs[op.input(i).index] = on_device(target, places.inputs[i], kept);
      for (const Layout& layout : places.outputs) tactic.outputs.push_back(on_device(target, layout, kept));
      take_strided(op, *moves, tactic);
      tactic.estimate = estimate_of(node, target);
      list.tactics.push_back(std::move(tactic));
    }
  }
  if (list.tactics.empty())
    list.reason = "cuda: " + op.kind() + " with these parameters is not a copy of boxes";
  return list;
}

std::unique_ptr<Kernel> movement_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  if (p.node.kind() == "reorder") return prepare_reorder(p, gpu);
  const GroupOp& op = p.group.ops().front();
  const auto moves = moves_on_gpu(op, places_of(op, p.tactic));
  lanner::check(moves.has_value(), ErrorCode::unsupported,
                "cuda: movement: {} in these layouts: build the plan again", op.kind());
  const std::size_t element = bit_width(p.tactic.outputs.at(0).dtype.value_or(op.type().dtype())) / 8;
  const std::string function = fmt::format("copy_box_{}", element);
  std::vector<BoxCopy> copies;
  for (const Move& move : moves->moves) {
    copies.push_back(make_copy(gpu, move.box, function.c_str(), element, element));
    copies.back().input = move.input;
    copies.back().output = move.output;
  }
  const std::uint64_t zeroed =
      moves->fill ? static_cast<std::uint64_t>(op.type().shape().elements()) * element : 0;
  return std::make_unique<BoxKernel>(std::move(copies), zeroed);
}

} // namespace

const KernelFamily movement_family{.kernel = "movement",
                                   .tactics = movement_tactics,
                                   .prepare = movement_prepare,
                                   .fuses = nullptr,
                                   .late = movement_tactics};

} // namespace lanner::cuda
