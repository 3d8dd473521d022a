#include "engine/step_report.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "backends/estimate.h"
#include "graph/op.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

bool computes_products(const Node& node) {
  if (is_group(node))
    return std::ranges::any_of(node.regions().front()->nodes(),
                               [](const auto& inner) { return computes_products(*inner); });
  return pattern_of(node) == Pattern::contraction || pattern_of(node) == Pattern::recurrent;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether it reads a value that is stored in one of two types.
bool reads_stored(const Node& node, DType one, DType other) {
  return std::ranges::any_of(node.inputs(), [&](const Value* value) {
    if (!value || !value->type.is_static()) return false;
    const DType type = value->storage.dtype.value_or(value->type.dtype());
    return type == one || type == other;
  });
}
bool multiplies_bytes(const Node& node) {
  return reads_stored(node, DType::i8, DType::u8);
}
bool multiplies_halves(const Node& node) {
  return reads_stored(node, DType::f16, DType::bf16);
}

/// The widest vectors of the processor, which kernels use that name no instruction set.
MatrixUnit vectors_of(std::string_view isa) {
  if (contains(isa, "avx512f")) return {"AVX-512", {}};
  if (contains(isa, "avx2")) return {"AVX2", {}};
  return {"none", "the processor has neither AVX2 nor AVX-512"};
}

/// The instruction set that a kernel's configuration names.
MatrixUnit named_unit(std::string_view config, std::string_view isa) {
  if (contains(config, "amx")) return {"AMX", {}};
  if (contains(config, "vnni")) return {"VNNI", {}};
  if (contains(config, "avx512_core_bf16")) return {"AVX512-BF16", {}};
  if (contains(config, "avx512")) return {"AVX-512", {}};
  if (contains(config, "avx2")) return {"AVX2", {}};
  if (contains(config, "ref:") || contains(config, ":ref")) return {"none", "a plain loop of the library"};
  return vectors_of(isa);
}

MatrixUnit unit_of_cpu(const Node& node, std::string_view isa) {
  const std::string_view config(reinterpret_cast<const char*>(node.tactic.config.data()),
                                node.tactic.config.size());
  MatrixUnit unit = named_unit(config, isa);
  const bool vectors = unit.name.starts_with("AVX") && unit.name != "AVX512-BF16";
  if (!vectors || !(contains(isa, "amx") || contains(isa, "vnni"))) return unit;
  if (!multiplies_bytes(node)) unit.reason = "FP32; AMX and VNNI multiply narrower types";
  return unit;
}

/// Products in the time of one of FP32 by the widest vectors (Intel's "Optimization Reference Manual",
/// chapters on VNNI and AMX).
double speedup_of(const MatrixUnit& unit, bool bytes) {
  if (unit.name == "AMX") return bytes ? 32 : 16;
  if (unit.name == "VNNI") return bytes ? 4 : 1;
  return unit.name == "AVX512-BF16" ? 2 : 1;
}

MatrixUnit unit_of_gpu(const Node& node, const Target& target) {
  if (multiplies_bytes(node) || multiplies_halves(node)) return {"tensor core", {}};
  if (target.precision.exact) return {"none", "FP32 with --exact is computed without tensor cores"};
  return {"none", "FP32; a library's kernel may use tensor cores by TF32, which --exact forbids"};
}

std::uint64_t padding_bytes(const Value& value) {
  if (!is_planned(value)) return 0;
  const Shape shape = value.type.shape();
  const std::int64_t more = value.storage.layout.padded(shape).elements() - shape.elements();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(more, 0)) *
         bit_width(value.storage.dtype.value_or(value.type.dtype())) / 8;
}

} // namespace

MatrixUnit matrix_unit(const Node& node, const Target& target) {
  constexpr std::array by_definition{"reference", "interpreter", "program"};
  if (!computes_products(node)) return {"none", "computes no products"};
  if (std::ranges::find(by_definition, node.tactic.backend) != by_definition.end())
    return {"none", "runs by its definition"};
  if (!device_of(node).is_host()) return unit_of_gpu(node, target);
  return unit_of_cpu(node, target.device.is_host() ? target.isa : target.host_isa);
}

std::uint64_t padding_bytes(const Node& node) {
  std::uint64_t total = 0;
  std::set<const Value*> counted;
  for (const Value* input : node.inputs())
    if (input && counted.insert(input).second) total += padding_bytes(*input);
  for (const auto& output : node.outputs()) total += padding_bytes(*output);
  return total;
}

SpeedLimit speed_limit(const Step& step, const Target& target) {
  const Node& node = *step.node;
  const Target own = target.on(device_of(node));
  const bool bytes_on_gpu = computes_products(node) && multiplies_bytes(node) && !own.device.is_host();
  if (step.bytes == 0 || !is_planned(node) || bytes_on_gpu) return {};
  const double speedup =
      own.device.is_host() ? speedup_of(matrix_unit(node, target), multiplies_bytes(node)) : 1;
  const auto work = [&](double operations, double bytes) {
    return Work{.operations = operations,
                .bytes = bytes,
                .threads = own.device.is_host() ? own.threads : 1,
                .halves = !own.device.is_host() && multiplies_halves(node)};
  };
  const double operations = static_cast<double>(step.flops) / speedup;
  const auto bytes = static_cast<double>(step.bytes);
  const bool computes = seconds_of(work(operations, 0), own) > seconds_of(work(0, bytes), own);
  return {computes ? "compute" : "memory", seconds_of(work(operations, bytes), own)};
}

} // namespace lanner
