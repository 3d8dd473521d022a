// transpose, concat, slice, pad and similar, and reorders between layouts and types, as box copies.

#include <algorithm>

#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/movement/box_copy.h"
#include "backends/movement/box_plan.h"
#include "backends/movement/value_layouts.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "graph/storage/within.h"

namespace lanner::cuda {
namespace {

/// One box from an input to an output.
struct MovedBox {
  std::size_t input = 0, output = 0;
  BoxCopy copy;
};

class BoxKernel final : public Kernel {
public:
  BoxKernel(std::vector<MovedBox> boxes, std::uint64_t zeroed) : boxes_(std::move(boxes)), zeroed_(zeroed) {}

  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    if (zeroed_ > 0)
      check(driver().set_bytes(reinterpret_cast<DevicePointer>(launch.outputs[0]), 0, zeroed_,
                               static_cast<StreamHandle>(launch.stream.handle)),
            "cuMemsetD8Async");
    for (const MovedBox& box : boxes_)
      if (launch.outputs[box.output])
        box.copy.launch(launch.inputs[box.input], launch.outputs[box.output], launch.stream);
  }

private:
  std::vector<MovedBox> boxes_;
  std::uint64_t zeroed_; ///< Bytes of output 0 that are zeroed first.
};

// --- Reorders on the device ---

DType stored_type(const Value& value) {
  return value.storage.dtype.value_or(value.type.dtype());
}

/// Whether a box is copied in tiles, as its sides are dense along different axes.
bool is_transposed(const Box& box) {
  return tile_parameters(simplified(box), tile_edge(4)).has_value();
}

/// Of copies that read and write so many bytes. Tiles of transposed boxes reach half of the memory's rate.
double seconds_of_moves(double bytes, bool transposed, const Target& target) {
  return seconds_of({.bytes = (transposed ? 2 : 1.25) * bytes}, target);
}

double elements_of(const Node& node) {
  double elements = 0;
  for (const auto& output : node.outputs()) elements += static_cast<double>(output->type.shape().elements());
  return elements;
}

bool is_plain(const Storage& storage, const Target& target) {
  return storage.device == target.device && storage.layout.blocks.empty() && !storage.quantization;
}

Box reordered_box(const Storage& from, const Storage& to, const Shape& shape) {
  return {{shape.begin(), shape.end()}, memory_strides(from, shape), memory_strides(to, shape)};
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
  const double bytes = elements_of(node) * static_cast<double>(bit_width(a) + bit_width(b)) / 8;
  const bool transposed = is_transposed(reordered_box(from, to, node.output()->type.shape()));
  tactic.estimate = seconds_of_moves(bytes, transposed, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> prepare_reorder(const Preparation& p, const Gpu& gpu) {
  const Shape shape = p.node.output()->type.shape();
  const DType a = stored_type(*p.node.input(0)), b = stored_type(*p.node.output(0));
  const Box box = reordered_box(p.tactic.inputs.at(0), p.tactic.outputs.at(0), shape);
  return std::make_unique<BoxKernel>(std::vector{MovedBox{0, 0, BoxCopy(gpu, box, a, b)}}, 0);
}

// --- Operators ---

/// Moves with as many axes as the kernels support.
std::optional<Moves> moves_on_gpu(const GroupOp& op, const ValueLayouts& layouts) {
  auto moves = moves_at(op, layouts);
  if (op.kind() == "pad" && moves && moves->moves.size() > 1) return std::nullopt; // taps_cuda: one launch.
  if (moves &&
      !std::ranges::all_of(moves->moves, [](const Move& move) { return fits_box_kernels(move.box); }))
    return std::nullopt;
  return moves;
}

std::vector<ValueLayouts> offered_layouts(const GroupOp& op) {
  std::vector<ValueLayouts> layouts = uniform_layouts(op);
  // In other layouts a transpose is a view, or the same copy as this one.
  if (op.kind() == "transpose") layouts.resize(1);
  return layouts;
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
  for (const std::optional<DType> kept : storage_types(op.type().dtype(), target)) {
    for (const ValueLayouts& layouts : offered_layouts(op)) {
      const auto moves = moves_on_gpu(op, layouts);
      if (!moves || !fills(*moves)) continue;
      Tactic tactic;
      tactic.kernel = "movement";
      tactic.inputs.resize(node.inputs().size());
      for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
        tactic.inputs[op.input(i).index] = on_device(target, layouts.inputs[i], kept);
      for (const Layout& layout : layouts.outputs) tactic.outputs.push_back(on_device(target, layout, kept));
      take_strided(op, *moves, tactic);
      const double bits = 2 * static_cast<double>(bit_width(kept.value_or(op.type().dtype())));
      const bool transposed =
          std::ranges::any_of(moves->moves, [](const Move& move) { return is_transposed(move.box); });
      tactic.estimate = seconds_of_moves(elements_of(node) * bits / 8, transposed, target);
      list.tactics.push_back(std::move(tactic));
    }
  }
  if (list.tactics.empty())
    list.reason = op.kind() + " with these parameters cannot be expressed as box copies";
  return list;
}

std::unique_ptr<Kernel> movement_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  if (p.node.kind() == "reorder") return prepare_reorder(p, gpu);
  const GroupOp& op = p.group.ops().front();
  const auto moves = moves_on_gpu(op, layouts_of(op, p.tactic));
  lanner::check(moves.has_value(), ErrorCode::unsupported,
                "cuda: movement: {} in these layouts: build the plan again", op.kind());
  const DType type = p.tactic.outputs.at(0).dtype.value_or(op.type().dtype());
  std::vector<MovedBox> boxes;
  for (const Move& move : moves->moves)
    boxes.push_back({move.input, move.output, BoxCopy(gpu, move.box, type, type)});
  const std::uint64_t zeroed =
      moves->fill ? static_cast<std::uint64_t>(op.type().shape().elements()) * bit_width(type) / 8 : 0;
  return std::make_unique<BoxKernel>(std::move(boxes), zeroed);
}

} // namespace

extern const KernelFamily movement_family{.kernel = "movement",
                                          .trust = KernelTrust::own(),
                                          .tactics = movement_tactics,
                                          .prepare = movement_prepare,
                                          .late = movement_tactics};

} // namespace lanner::cuda
