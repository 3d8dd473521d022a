// Groups of elementwise operations, each compiled into one kernel by NVRTC: for fixed sizes, or for any.

#include <algorithm>

#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/elementwise/elementwise_source.h"
#include "backends/elementwise/program.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

/// Constants within a group become literals in the source, so they must be scalars.
bool holds_numbers_only(const ElementwiseProgram& program) {
  return std::ranges::all_of(program.inputs, [](const ProgramInput& input) {
    return input.operand.is_input() || scalar_value(input.operand.constant).has_value();
  });
}

/// Types below a byte share bytes, which threads cannot write separately.
bool has_whole_elements(const ElementwiseProgram& program) {
  const auto whole = [](const auto& value) { return bit_width(value.dtype) >= 8; };
  return std::ranges::all_of(program.inputs, whole) && std::ranges::all_of(program.outputs, whole);
}

std::optional<ElementwiseProgram> program_of(const Group& group, std::string& reason) {
  auto program = compile_elementwise(group, reason, true);
  if (!program) return std::nullopt;
  const std::size_t arguments = program->inputs.size() + program->outputs.size();
  const bool fits = has_whole_elements(*program) && holds_numbers_only(*program) &&
                    arguments <= PointerKernel::max_pointers && program->shape.elements() > 0;
  if (fits) return program;
  reason = "too many values, a type below a byte, or a non-scalar constant within the group";
  return std::nullopt;
}

bool fuses(const Group& group, const Target&) {
  std::string reason;
  return nvrtc_status().found && program_of(group, reason).has_value();
}

/// The storages of one tactic: besides the program, the only input of the source.
Tactic tactic_of(const Node& node, const ElementwiseProgram& program, const Layout& layout,
                 std::optional<DType> kept, const Target& target) {
  Tactic tactic;
  tactic.kernel = "elementwise";
  tactic.inputs.resize(node.inputs().size());
  const auto narrowed = [&](DType type) { return type == DType::f32 ? kept : std::nullopt; };
  for (const ProgramInput& input : program.inputs) {
    if (!input.operand.is_input()) continue;
    const Layout own = canonical(input.layout(layout, program.shape.rank()), input.operand.shape());
    tactic.inputs[input.operand.index] =
        on_device(target, own, input.operand.constant ? std::nullopt : narrowed(input.dtype));
  }
  for (const auto& output : node.outputs())
    tactic.outputs.push_back(on_device(target, layout, narrowed(output->type.dtype())));
  take_strided(program, layout, tactic);
  share_storages(node, tactic);
  const double share = kept ? 0.5 : 1; // of f32's width
  tactic.estimate = seconds_of({.bytes = bytes_of(program) * share}, target);
  return tactic;
}

TacticList elementwise_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto program = program_of(group, list.reason);
  if (!program) return list;
  if (!nvrtc_status().found) {
    list.reason = "NVRTC is not available: " + nvrtc_status().reason;
    return list;
  }
  bool reals = false;
  for (const ProgramInput& input : program->inputs) reals |= input.dtype == DType::f32;
  for (const ProgramOutput& output : program->outputs) reals |= output.dtype == DType::f32;
  offer(list, reals ? DType::f32 : DType::i32, target, image_layouts(program->shape),
        [&](std::optional<DType> kept, const Layout& layout) {
          return tactic_of(node, *program, layout, kept, target);
        });
  return list;
}

/// For a tactic whose kernel gets its sizes at launch.
constexpr std::byte sized{1};

TacticList sized_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto program = nvrtc_status().found ? program_of(group, list.reason) : std::nullopt;
  if (!program || !sized_elements(*program)) return list;
  list.tactics.push_back(tactic_of(node, *program, Layout{}, std::nullopt, target));
  list.tactics.back().config = {sized};
  return list;
}

std::unique_ptr<Kernel> elementwise_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  std::string reason;
  const auto program = program_of(p.group, reason);
  check_taken(program.has_value(), p, reason);
  const bool any_size = !p.tactic.config.empty();
  std::vector<std::size_t> inputs;
  for (const ProgramInput& input : program->inputs)
    if (any_size ? is_sized_parameter(input) : input.operand.is_input())
      inputs.push_back(input.operand.index);
  const FunctionHandle function =
      any_size ? compiled_function(gpu, sized_source(*program, p.tactic), sized_name(*program).c_str())
               : compiled_function(gpu, elementwise_source(*program, p.tactic), "elementwise");
  const std::int64_t threads =
      program->shape.elements() / (any_size ? 1 : elementwise_width(*program, p.tactic));
  return std::make_unique<PointerKernel>(
      function, grid_for(gpu, threads), std::move(inputs), program->outputs.size(),
      any_size ? sized_elements(*program).value_or(SizedElements{}) : SizedElements{});
}

} // namespace

extern const KernelFamily elementwise_family{.kernel = "elementwise",
                                             .trust = KernelTrust::own(),
                                             .tactics = elementwise_tactics,
                                             .prepare = elementwise_prepare,
                                             .fuses = fuses,
                                             .late = sized_tactics};

} // namespace lanner::cuda
