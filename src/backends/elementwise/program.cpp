#include "backends/elementwise/program.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backends/elementwise/operations.h"
#include "backends/elementwise/quantization.h"
#include "backends/storage_layout.h"
#include "graph/op.h"
#include "tensor/half_types.h"

namespace lanner {

namespace {

constexpr int max_registers = 24;

/// Types whose values survive conversion to f32 and back.
bool is_castable(DType type) {
  return type == DType::f32 || type == DType::boolean || is_integer(type) || is_half(type);
}

/// Translates operations in order; each result gets its own virtual register, numbered after the inputs.
class Compiler {
public:
  Compiler(const Group& group, std::string& reason, bool halves)
      : group_(group), reason_(reason), halves_(halves) {}

  std::optional<ElementwiseProgram> run() {
    program_.shape = group_.ops().front().type().shape();
    for (const GroupOp& op : group_.ops())
      if (!fits(op)) return std::nullopt;
    if (!collect_inputs()) return std::nullopt;
    next_ = static_cast<int>(program_.inputs.size());
    for (const GroupOp& op : group_.ops()) {
      if (!emit(op)) {
        reason_ = "no formula for " + op.kind();
        return std::nullopt;
      }
      results_.push_back(last_);
    }
    for (const Operand& output : group_.outputs()) {
      if (!output.is_op()) {
        reason_ = "an output is an input";
        return std::nullopt;
      }
      const GroupOp& op = group_.ops()[output.index];
      const bool quantizes = is_quantize(op) && !halves_;
      program_.outputs.push_back({results_[output.index], op.type().dtype(), quantizes});
      if (!quantizes || !is_number(op, 1)) continue;
      program_.outputs.back().zero = *zero_number(op);
      program_.outputs.back().scale = *scale_number(op);
    }
    if (!halves_) take_stored_integers();
    allocate_registers();
    if (program_.registers > max_registers) {
      reason_ = "too many values are live at once";
      return std::nullopt;
    }
    return std::move(program_);
  }

private:
  bool is_real_or_truth(DType type) const {
    return type == DType::f32 || type == DType::boolean || (halves_ && is_half(type));
  }

  bool fits(const GroupOp& op) {
    if (is_quantize(op) || is_dequantize(op)) return fits_quantization(op);
    if (!op.node->op().elementwise || op.kind() == "reorder") return false; // Not of this family: no reason.
    const bool cast = op.kind() == "cast";
    bool types = cast ? is_castable(op.type().dtype()) : is_real_or_truth(op.type().dtype());
    for (const Operand& operand : op.inputs)
      if (operand) types &= fits(op, operand);
    if (types && op.type().shape() == program_.shape) return true;
    reason_ = types ? "the results have different shapes" : op.kind() + " of these types";
    return false;
  }

  /// Types that a tile cannot hold may appear only at a program's inputs and outputs. A cast to a half
  /// rounds, which happens when the program writes.
  bool fits(const GroupOp& op, const Operand& operand) const {
    if (operand.is_op()) {
      const GroupOp& maker = group_.ops()[operand.index];
      if (maker.kind() == "cast" && is_half(maker.type().dtype())) return false;
    }
    if (op.kind() != "cast" || operand.is_op()) return is_real_or_truth(operand.dtype());
    return is_castable(operand.dtype()) && cast_is_exact(op);
  }

  /// A cast between integers would have to pass through f32 exactly and wrap around as integers do.
  bool cast_is_exact(const GroupOp& op) const {
    const DType from = op.input(0).dtype(), to = op.type().dtype();
    return is_real_or_truth(from) || is_real_or_truth(to);
  }

  bool fits_quantization(const GroupOp& op) {
    reason_ = quantization_obstacle(op);
    const Operand x = op.input(0);
    if (reason_.empty() && is_dequantize(op) && x.is_op() && !is_quantize(group_.ops()[x.index]))
      reason_ = "integers that quantize_linear does not make";
    if (reason_.empty() && op.type().shape() != program_.shape) reason_ = "the results have different shapes";
    return reason_.empty();
  }

  /// An operand's shape as it broadcasts, which for scales and zero points depends on the operation.
  static Shape spread(const GroupOp& op, std::size_t i) {
    const bool parameter = i > 0 && (is_quantize(op) || is_dequantize(op));
    return parameter ? parameter_shape(op, i) : op.inputs[i].shape();
  }

  /// Whether an operation of the group reads the result.
  bool is_read(const GroupOp& op) const {
    const auto index = static_cast<std::size_t>(&op - group_.ops().data());
    return std::ranges::any_of(group_.ops(), [&](const GroupOp& reader) {
      return std::ranges::any_of(reader.inputs,
                                 [&](const Operand& input) { return input.is_op() && input.index == index; });
    });
  }

  /// Whether a scale or zero point is a known number that no operand is needed for.
  bool is_number(const GroupOp& op, std::size_t i) const {
    if (i == 0 || (!is_quantize(op) && !is_dequantize(op))) return false;
    const auto zero = zero_number(op), scale = scale_number(op);
    if (!zero) return false;
    if (is_quantize(op)) return i == 2 || (!halves_ && scale && !is_read(op));
    return scale || (i == 2 && *zero == 0);
  }

  bool collect_inputs() {
    for (const GroupOp& op : group_.ops())
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const Operand& operand = op.inputs[i];
        if (!operand || operand.is_op() || is_number(op, i)) continue;
        const Shape shape = spread(op, i);
        const auto [found, added] =
            input_slots_.emplace(operand.value, static_cast<int>(program_.inputs.size()));
        if (added) {
          program_.inputs.push_back({operand, operand.dtype(), shape});
        } else if (program_.inputs[static_cast<std::size_t>(found->second)].shape != shape) {
          reason_ = "one value is an operand and a scale or zero point";
          return false;
        }
      }
    return true;
  }

  int slot_of(const Operand& operand) const {
    return operand.is_op() ? results_[operand.index] : input_slots_.at(operand.value);
  }

  void push(const Formula& formula, Numbers numbers, int x, int y = -1, int z = -1) {
    last_ = next_++;
    program_.instructions.push_back({&formula, numbers, last_, {x, y, z}});
  }

  /// Bounds less a zero point that is a number, which is added behind: exact, as the integers are small.
  void emit_quantize(const GroupOp& op) {
    const StoredBounds bounds = stored_bounds(op.type().dtype());
    const int x = slot_of(op.input(0));
    const auto zero = zero_number(op), number = scale_number(op);
    if (!halves_ && zero && number && !is_read(op)) {
      last_ = x; // quantised as it is written
      return;
    }
    const int scale = slot_of(op.input(1));
    if (!zero)
      return push(formula("quantize_by"), {bounds.least, bounds.most}, x, scale, slot_of(op.input(2)));
    push(formula("quantize"), {bounds.least - *zero, bounds.most - *zero}, x, scale);
    if (*zero != 0) push(formula("linear"), {1, *zero}, last_);
  }

  void emit_dequantize(const GroupOp& op) {
    const int x = slot_of(op.input(0));
    const auto zero = zero_number(op), scale = scale_number(op);
    if (zero && scale)
      push(formula("dequantize"), {*zero, *scale}, x);
    else if (zero && *zero == 0)
      push(formula("mul"), {}, x, slot_of(op.input(1)));
    else
      push(formula("dequantize_by"), {}, x, slot_of(op.input(1)), slot_of(op.input(2)));
  }

  bool emit(const GroupOp& op) {
    if (is_quantize(op)) return emit_quantize(op), true;
    if (is_dequantize(op)) return emit_dequantize(op), true;
    if (op.kind() == "cast") {
      push(formula(op.type().dtype() == DType::boolean ? "truth" : "identity"), {}, slot_of(op.input(0)));
      return true;
    }
    if (const auto joined = translate_variadic(op)) {
      int sum = slot_of(op.input(0));
      for (std::size_t i = 1; i < op.inputs.size(); ++i) {
        push(*joined, {}, sum, slot_of(op.input(i)));
        sum = last_;
      }
      if (op.kind() == "mean")
        push(formula("linear"), {1.0F / static_cast<float>(op.inputs.size()), 0}, sum);
      else if (op.inputs.size() == 1)
        push(formula("identity"), {}, sum);
      return true;
    }
    const auto translation = translate(op);
    if (!translation) return false;
    int slots[3] = {-1, -1, -1};
    for (std::size_t i = 0; i < translation->operands.size(); ++i) {
      const Operand operand = op.input(translation->operands[i]);
      if (!operand) return false;
      slots[i] = slot_of(operand);
    }
    push(*translation->formula, translation->numbers, slots[0], slots[1], slots[2]);
    return true;
  }

  /// Stored integers that only one dequantize reads become real as they are read.
  void take_stored_integers() {
    std::vector<int> uses(program_.inputs.size(), 0);
    for (const TileInstruction& instruction : program_.instructions)
      for (const int slot : instruction.operands)
        if (slot >= 0 && slot < static_cast<int>(uses.size())) ++uses[static_cast<std::size_t>(slot)];
    std::map<int, int> replaced; // a register by the input that holds its values
    std::erase_if(program_.instructions, [&](const TileInstruction& instruction) {
      const int slot = instruction.operands[0];
      if (instruction.formula != &formula("dequantize") || slot >= static_cast<int>(uses.size()) ||
          uses[static_cast<std::size_t>(slot)] != 1)
        return false;
      ProgramInput& input = program_.inputs[static_cast<std::size_t>(slot)];
      input.zero = instruction.numbers.p;
      input.scale = instruction.numbers.q;
      replaced.emplace(instruction.out, slot);
      return true;
    });
    const auto replace = [&](int& slot) {
      if (const auto found = replaced.find(slot); found != replaced.end()) slot = found->second;
    };
    for (TileInstruction& instruction : program_.instructions)
      for (int& slot : instruction.operands) replace(slot);
    for (ProgramOutput& output : program_.outputs) replace(output.slot);
  }

  /// Register allocation: a register is free again after its last reader. Registers of results stay.
  void allocate_registers() {
    const int inputs = static_cast<int>(program_.inputs.size());
    std::vector<int> last_use(static_cast<std::size_t>(next_), -1),
        place(static_cast<std::size_t>(next_), -1);
    const int count = static_cast<int>(program_.instructions.size());
    for (int i = 0; i < count; ++i)
      for (int slot : program_.instructions[static_cast<std::size_t>(i)].operands)
        if (slot >= 0) last_use[static_cast<std::size_t>(slot)] = i;
    for (const ProgramOutput& output : program_.outputs)
      last_use[static_cast<std::size_t>(output.slot)] = count;
    for (int i = 0; i < inputs; ++i) place[static_cast<std::size_t>(i)] = i;

    std::vector<int> free;
    for (int i = 0; i < count; ++i) {
      TileInstruction& instruction = program_.instructions[static_cast<std::size_t>(i)];
      for (int& slot : instruction.operands) {
        if (slot < 0) continue;
        const int virtual_slot = slot;
        slot = place[static_cast<std::size_t>(virtual_slot)];
        if (virtual_slot >= inputs && last_use[static_cast<std::size_t>(virtual_slot)] == i) {
          free.push_back(slot);
          last_use[static_cast<std::size_t>(virtual_slot)] = -1;
        }
      }
      if (free.empty()) free.push_back(inputs + program_.registers++);
      place[static_cast<std::size_t>(instruction.out)] = free.back();
      instruction.out = free.back();
      free.pop_back();
    }
    for (ProgramOutput& output : program_.outputs) output.slot = place[static_cast<std::size_t>(output.slot)];
  }

  const Group& group_;
  std::string& reason_;
  bool halves_;
  ElementwiseProgram program_;
  std::unordered_map<const Value*, int> input_slots_;
  std::vector<int> results_; ///< Virtual register of each operation.
  int next_ = 0, last_ = -1;
};

} // namespace

Layout ProgramInput::layout(const Layout& result, std::size_t rank) const {
  const Layout own = operand_layout(result, rank, shape);
  if (shape == operand.shape()) return own;
  Layout along; // of the only axis
  for (const Layout::Block& block : own.blocks) along.blocks.push_back({0, block.size});
  if (!along.blocks.empty()) along.order = {0};
  return canonical(along, operand.shape());
}

std::optional<ElementwiseProgram> compile_elementwise(const Group& group, std::string& reason, bool halves) {
  if (group.empty()) return std::nullopt;
  return Compiler(group, reason, halves).run();
}

double bytes_of(const ElementwiseProgram& program) {
  double bits = 0;
  for (const ProgramInput& input : program.inputs)
    bits +=
        static_cast<double>(input.operand.shape().elements()) * static_cast<double>(bit_width(input.dtype));
  for (const ProgramOutput& output : program.outputs)
    bits += static_cast<double>(program.shape.elements()) * static_cast<double>(bit_width(output.dtype));
  return bits / 8;
}

void take_strided(const ElementwiseProgram& program, const Layout& layout, Tactic& tactic) {
  if (!layout.blocks.empty()) return;
  tactic.strided_inputs.assign(tactic.inputs.size(), {});
  for (const ProgramInput& input : program.inputs)
    if (input.operand.is_input() && !input.operand.constant && input.shape == program.shape)
      tactic.strided_inputs[input.operand.index] = AxisSet::all();
  tactic.strided_outputs.assign(program.outputs.size(), AxisSet::all());
}

void share_storages(const Node& node, Tactic& tactic) {
  std::unordered_map<const Value*, std::size_t> first; // a hash map, as there may be as many inputs as nodes
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.input(i)) tactic.inputs[i] = tactic.inputs[first.emplace(node.input(i), i).first->second];
}

} // namespace lanner
