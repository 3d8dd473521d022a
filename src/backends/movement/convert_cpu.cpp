// reorder between f32 and bf16 of the same layout.

#include <algorithm>

#include "backends/cpu/bf16.h"
#include "backends/cpu/stored_types.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "device/parallel.h"

namespace lanner {

namespace {

class ConvertKernel final : public Kernel {
public:
  ConvertKernel(std::int64_t count, bool narrows, int threads)
      : count_(count), narrows_(narrows), threads_(threads) {}

  void launch(const Launch& launch) const override {
    const std::int64_t shares = (count_ + share - 1) / share;
    parallel_for(threads_, 0, shares, 1, [&](std::int64_t begin, std::int64_t end) {
      run(launch, begin * share, std::min(count_, end * share));
    });
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t share = 32768;

  void run(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    const void* const from = launch.inputs[0];
    void* const to = launch.outputs[0];
    if (narrows_)
      bf16_functions().write(static_cast<const float*>(from) + begin, static_cast<Bf16*>(to) + begin,
                             end - begin);
    else
      bf16_functions().read(static_cast<const Bf16*>(from) + begin, static_cast<float*>(to) + begin,
                            end - begin);
  }

  std::int64_t count_;
  bool narrows_;
  int threads_;
};

TacticList convert_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (group.ops().size() != 1 || group.ops().front().kind() != "reorder") return list;
  const Storage &from = node.input(0)->storage, &to = node.output(0)->storage;
  const DType own = node.output(0)->type.dtype();
  const DType read = stored_type(from, own), written = stored_type(to, own);
  const bool types =
      (read == DType::f32 && written == DType::bf16) || (read == DType::bf16 && written == DType::f32);
  if (!types || from.layout != to.layout || from.quantization || to.quantization || from.within || to.within)
    return list;
  Tactic tactic;
  tactic.kernel = "convert";
  tactic.inputs.resize(node.inputs().size());
  tactic.inputs[0] = from;
  tactic.outputs = {to};
  const double elements = static_cast<double>(to.layout.padded(node.output(0)->type.shape()).elements());
  tactic.estimate = seconds_of({.bytes = 6 * elements, .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> convert_prepare(const Preparation& p) {
  const Storage& to = p.tactic.outputs.at(0);
  const Type& type = p.node.output(0)->type;
  return std::make_unique<ConvertKernel>(to.layout.padded(type.shape()).elements(),
                                         stored_type(to, type.dtype()) == DType::bf16, p.target.threads);
}

} // namespace

extern const KernelFamily convert_family{"convert", KernelTrust::own(), convert_tactics, convert_prepare};

} // namespace lanner
