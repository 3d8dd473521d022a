#include "backends/elementwise/program.h"

#include <algorithm>
#include <unordered_map>

#include "backends/elementwise/operations.h"
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
    collect_inputs();
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
      program_.outputs.push_back({results_[output.index], group_.ops()[output.index].type().dtype()});
    }
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

  void collect_inputs() {
    for (const GroupOp& op : group_.ops())
      for (const Operand& operand : op.inputs)
        if (operand && !operand.is_op() &&
            input_slots_.emplace(operand.value, static_cast<int>(program_.inputs.size())).second)
          program_.inputs.push_back({operand, operand.dtype()});
  }

  int slot_of(const Operand& operand) const {
    return operand.is_op() ? results_[operand.index] : input_slots_.at(operand.value);
  }

  void push(const Formula& formula, Numbers numbers, int x, int y = -1, int z = -1) {
    last_ = next_++;
    program_.instructions.push_back({&formula, numbers, last_, {x, y, z}});
  }

  bool emit(const GroupOp& op) {
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
    if (input.operand.is_input() && !input.operand.constant && input.operand.shape() == program.shape)
      tactic.strided_inputs[input.operand.index] = AxisSet::all();
  tactic.strided_outputs.assign(program.outputs.size(), AxisSet::all());
}

void share_storages(const Node& node, Tactic& tactic) {
  std::unordered_map<const Value*, std::size_t> first; // a hash map, as there may be as many inputs as nodes
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.input(i)) tactic.inputs[i] = tactic.inputs[first.emplace(node.input(i), i).first->second];
}

} // namespace lanner
