#include <algorithm>
#include <cstring>

#include "backends/cpu/layouts.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "device/parallel.h"
#include "ops/definition/axis.h"

namespace lanner {

namespace {

/// Memory as outer x size rows of so many bytes, of which `count` are picked from each `size`.
struct PickedRows {
  std::int64_t outer = 1, size = 1, count = 1, bytes = 1;
};

PickedRows rows_of(const GroupOp& op) {
  const Shape data = op.input(0).shape();
  const std::size_t axis = ops::resolve_axis(op.attributes().integer("axis", 0), data.rank());
  PickedRows rows;
  rows.size = data[axis];
  rows.count = op.input(1).shape().elements();
  rows.bytes = static_cast<std::int64_t>(bit_width(op.input(0).dtype()) / 8);
  for (std::size_t d = 0; d < axis; ++d) rows.outer *= data[d];
  for (std::size_t d = axis + 1; d < data.rank(); ++d) rows.bytes *= data[d];
  return rows;
}

/// Rows `begin` to `end` of the result. For a constant element size the copy compiles to a move.
template<int element, typename Index>
void pick(const PickedRows& rows, const std::byte* data, const Index* indices, std::byte* to,
          std::int64_t begin, std::int64_t end) {
  const std::int64_t bytes = element > 0 ? element : rows.bytes;
  const std::byte* slice = data + begin / rows.count * rows.size * bytes;
  std::int64_t i = begin % rows.count;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t place = ops::resolve_index(indices[i], rows.size);
    std::memcpy(to + row * bytes, slice + place * bytes, static_cast<std::size_t>(bytes));
    if (++i < rows.count) continue;
    i = 0;
    slice += rows.size * bytes;
  }
}

template<typename Index>
using Pick = void (*)(const PickedRows& rows, const std::byte* data, const Index* indices, std::byte* to,
                      std::int64_t begin, std::int64_t end);

template<typename Index>
Pick<Index> pick_of(std::int64_t bytes) {
  switch (bytes) {
  case 1:
    return pick<1, Index>;
  case 2:
    return pick<2, Index>;
  case 4:
    return pick<4, Index>;
  case 8:
    return pick<8, Index>;
  default:
    return pick<0, Index>;
  }
}

const void* memory_of(const Operand& operand, const Launch& launch) {
  return operand.is_input() ? launch.inputs[operand.index] : operand.constant->data();
}

class GatherKernel final : public Kernel {
public:
  GatherKernel(const GroupOp& op, int threads)
      : data_(op.input(0)), indices_(op.input(1)), rows_(rows_of(op)), wide_(indices_.dtype() == DType::i64),
        threads_(threads), grain_(std::max<std::int64_t>(1, bytes_of_a_share / rows_.bytes)) {}

  void launch(const Launch& launch) const override {
    if (wide_)
      run<std::int64_t>(launch);
    else
      run<std::int32_t>(launch);
  }

private:
  /// A few microseconds of work justify waking a thread.
  static constexpr std::int64_t bytes_of_a_share = 64 << 10;

  template<typename Index>
  void run(const Launch& launch) const {
    const auto* data = static_cast<const std::byte*>(memory_of(data_, launch));
    const auto* indices = static_cast<const Index*>(memory_of(indices_, launch));
    auto* to = static_cast<std::byte*>(launch.outputs[0]);
    const Pick<Index> pick = pick_of<Index>(rows_.bytes);
    parallel_for(threads_, 0, rows_.outer * rows_.count, grain_,
                 [&](std::int64_t begin, std::int64_t end) { pick(rows_, data, indices, to, begin, end); });
  }

  Operand data_, indices_;
  PickedRows rows_;
  bool wide_;
  int threads_;
  std::int64_t grain_;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "gather") return false;
  const GroupOp& op = group.ops().front();
  const std::size_t bits = bit_width(op.input(0).dtype());
  const DType indices = op.input(1).dtype();
  if ((bits == 8 || bits == 16 || bits == 32 || bits == 64) &&
      (indices == DType::i64 || indices == DType::i32) && op.type().shape().elements() > 0)
    return true;
  reason = "supports elements of 1 to 8 bytes, and indices of i64 or i32";
  return false;
}

TacticList gather_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  Tactic tactic = row_major_tactic("gather", node);
  const double bytes = static_cast<double>(group.ops().front().input(1).shape().elements()) * 8 +
                       2 * plain_bytes(*node.output());
  tactic.estimate = seconds_of({.bytes = bytes, .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> gather_prepare(const Preparation& p) {
  return std::make_unique<GatherKernel>(p.group.ops().front(), p.target.threads);
}

} // namespace

extern const KernelFamily gather_family{"gather", KernelTrust::own(), gather_tactics, gather_prepare};

} // namespace lanner
