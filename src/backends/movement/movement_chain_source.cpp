#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "backends/movement/movement_chain.h"
#include "base/text/joined.h"
#include "graph/op.h"
#include "ops/movement/movement_rules.h"
#include "ops/movement/transpose.h"
#include "ops/table/named.h"

namespace lanner::cuda {
namespace {

using Kind = ChainOp::Kind;
constexpr std::size_t most_sources = 16, most_leaves = 16, most_axes = 12;

std::int64_t last_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

/// The largest of `most` and its halves that divides `size`.
std::int64_t dividing(std::int64_t size, std::int64_t most) {
  while (size % most != 0) most /= 2;
  return most;
}

/// Reads the operations of a group.
class Reader {
public:
  explicit Reader(const Group& group) : group_(group) {}

  std::optional<MovementChain> read() {
    if (group_.ops().empty() || group_.outputs().size() != 1 || !is_last(group_.outputs().front()))
      return std::nullopt;
    const DType type = group_.ops().front().type().dtype();
    chain_.element_bytes = bit_width(type) / 8;
    if (bit_width(type) < 8 || bit_width(type) > 64) return std::nullopt;
    for (const GroupOp& op : group_.ops())
      if (op.type().dtype() != type || !add(op)) return std::nullopt;
    const bool fits = chain_.sources.size() <= most_sources && moving_ > 1 && leaves_.back() <= most_leaves &&
                      chain_.result().elements() > 0 && chain_.result().elements() <= INT32_MAX;
    return fits ? std::optional(std::move(chain_)) : std::nullopt;
  }

private:
  bool is_last(const Operand& output) const {
    return output.is_op() && output.index + 1 == group_.ops().size();
  }

  bool add(const GroupOp& op) {
    ChainOp made;
    made.shape = op.type().shape();
    // Coordinates have 32 bits.
    if (made.shape.rank() > most_axes || made.shape.elements() > INT32_MAX) return false;
    std::size_t read = 1;
    if (op.kind() == "transpose") {
      made.kind = Kind::transpose;
      made.order = ops::transpose_order(op.attributes(), made.shape.rank());
    } else if (op.kind() == "slice") {
      made.kind = Kind::slice;
      const auto axes = slice_axes(op);
      if (!axes) return false;
      made.slices = *axes;
      ++moving_;
    } else if (op.kind() == "concat") {
      made.kind = Kind::concat;
      const std::int64_t axis = op.attributes().integer("axis", 0);
      made.axis =
          static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(made.shape.rank()) : axis);
      read = op.inputs.size();
      ++moving_;
    } else if (!ops::is_renamed(*op.node)) {
      return false;
    }
    std::size_t leaves = 0;
    for (std::size_t i = 0; i < read; ++i) {
      const auto input = input_of(op.input(i));
      if (!input) return false;
      leaves += input->memory ? 1 : leaves_[input->index];
      made.inputs.push_back(*input);
    }
    leaves_.push_back(leaves);
    chain_.ops.push_back(std::move(made));
    return leaves <= most_leaves;
  }

  std::optional<ChainInput> input_of(const Operand& operand) {
    if (operand.is_op()) return ChainInput{false, operand.index};
    if (!operand.is_input() || operand.shape().elements() > INT32_MAX || operand.shape().rank() > most_axes)
      return std::nullopt;
    for (std::size_t i = 0; i < chain_.sources.size(); ++i)
      if (chain_.sources[i].input == operand.index) return ChainInput{true, i};
    chain_.sources.push_back({operand.index, operand.shape()});
    return ChainInput{true, chain_.sources.size() - 1};
  }

  const Group& group_;
  MovementChain chain_;
  int moving_ = 0;                  ///< Slices and concats.
  std::vector<std::size_t> leaves_; ///< Per operation: number of memory reads in its code.
};

/// Generates the code that locates an element: from the last operation back to memory.
class Writer {
public:
  Writer(const MovementChain& chain, std::int64_t pack) : chain_(chain), pack_(pack) {}

  std::string text() {
    std::vector<std::string> at = split("i", packs(chain_.result()));
    find({false, chain_.ops.size() - 1}, std::move(at));
    return std::move(text_);
  }

private:
  /// Sizes in packs.
  std::vector<std::int64_t> packs(const Shape& shape) const {
    std::vector<std::int64_t> sizes(shape.begin(), shape.end());
    if (!sizes.empty()) sizes.back() /= pack_;
    return sizes;
  }
  std::string named(const std::string& value) {
    std::string name = fmt::format("t{}", temporaries_++);
    text_ += fmt::format("  const unsigned {} = {};\n", name, value);
    return name;
  }
  /// Coordinates along axes of these sizes, of element `linear` in memory order.
  std::vector<std::string> split(const std::string& linear, std::span<const std::int64_t> sizes) {
    std::vector<std::string> at(sizes.size());
    std::string rest = linear;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (sizes[i] == 1) {
        at[i] = "0u";
      } else if (std::all_of(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i),
                             [](std::int64_t size) { return size == 1; })) {
        at[i] = rest;
      } else {
        at[i] = named(fmt::format("{} % {}u", rest, sizes[i]));
        rest = named(fmt::format("{} / {}u", rest, sizes[i]));
      }
    }
    return at;
  }
  static std::string linear(std::span<const std::string> at, std::span<const std::int64_t> sizes) {
    std::string text = "0u";
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (sizes[i] == 1) continue;
      text = text == "0u" ? at[i] : fmt::format("({} * {}u + {})", text, sizes[i], at[i]);
    }
    return text;
  }

  void find(const ChainInput& input, std::vector<std::string> at) {
    if (input.memory) {
      const auto sizes = packs(chain_.sources[input.index].shape);
      text_ += fmt::format("  pack = load_pack<element_t, V>(s{} + index_t({}) * V, aligned);\n", input.index,
                           linear(at, sizes));
      return;
    }
    const ChainOp& op = chain_.ops[input.index];
    if (op.kind == Kind::concat) return find_part(op, at);
    const ChainInput& above = op.inputs.front();
    if (op.kind == Kind::transpose) {
      std::vector<std::string> before(at.size());
      for (std::size_t i = 0; i < at.size(); ++i) before[op.order[i]] = at[i];
      return find(above, std::move(before));
    }
    if (op.kind == Kind::reshape)
      return find(above, reshaped(at, packs(op.shape), packs(chain_.shape_of(above))));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto [start, step] = op.slices[i];
      // Unsigned arithmetic wraps around where a step is negative.
      const std::int64_t first = i + 1 == at.size() ? start / pack_ : start;
      if (first != 0 || step != 1)
        at[i] = named(fmt::format("{}u + {}u * {}", first, static_cast<std::uint32_t>(step), at[i]));
    }
    find(above, std::move(at));
  }

  /// Splits coordinates anew only within groups of axes whose products of sizes agree.
  std::vector<std::string> reshaped(std::span<const std::string> at, std::span<const std::int64_t> from,
                                    std::span<const std::int64_t> to) {
    std::vector<std::string> result;
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
      const std::size_t i0 = i, j0 = j;
      std::int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
      while (a != b) {
        if (a < b)
          a *= from[i++];
        else
          b *= to[j++];
      }
      if (i - i0 == 1 && j - j0 == 1) {
        result.push_back(at[i0]);
        continue;
      }
      const std::string whole = linear(at.subspan(i0, i - i0), from.subspan(i0, i - i0));
      for (std::string& one : split(i - i0 > 1 ? named(whole) : whole, to.subspan(j0, j - j0)))
        result.push_back(std::move(one));
    }
    return result;
  }

  void find_part(const ChainOp& op, std::vector<std::string>& at) {
    const bool last_axis = op.axis + 1 == at.size();
    const std::string position = at[op.axis];
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const std::int64_t size = chain_.shape_of(op.inputs[i])[op.axis] / (last_axis ? pack_ : 1);
      if (size == 0) continue;
      const std::int64_t end = begin + size;
      text_ += fmt::format("  if ({} >= {}u && {} < {}u) {{\n", position, begin, position, end);
      std::vector<std::string> inner = at;
      if (begin > 0) inner[op.axis] = named(fmt::format("{} - {}u", position, begin));
      find(op.inputs[i], std::move(inner));
      text_ += "  }\n";
      begin = end;
    }
  }

  const MovementChain& chain_;
  std::int64_t pack_;
  std::string text_;
  int temporaries_ = 0;
};

} // namespace

std::int64_t MovementChain::pack() const {
  std::int64_t pack = 16 / static_cast<std::int64_t>(element_bytes);
  for (const Source& source : sources) pack = dividing(last_of(source.shape), pack);
  for (const ChainOp& op : ops) {
    pack = dividing(last_of(op.shape), pack);
    const std::size_t rank = op.shape.rank();
    if (rank == 0) continue;
    if (op.kind == Kind::transpose && op.order.back() + 1 != rank) return 1;
    if (op.kind == Kind::slice) {
      if (op.slices.back().step != 1) return 1;
      pack = dividing(op.slices.back().start, pack);
    }
  }
  return pack;
}

std::optional<MovementChain> movement_chain_of(const Group& group) {
  return Reader(group).read();
}

std::string movement_chain_source(const MovementChain& chain) {
  const std::int64_t pack = chain.pack();
  const std::map<std::size_t, const char*> types = {
      {1, "unsigned char"}, {2, "unsigned short"}, {4, "unsigned"}, {8, "unsigned long long"}};
  std::vector<std::string> parameters;
  std::string aligned = "is_aligned<element_t, V>(out)";
  for (std::size_t i = 0; i < chain.sources.size(); ++i) {
    parameters.push_back(fmt::format("const element_t* __restrict__ s{}", i));
    aligned += fmt::format(" && is_aligned<element_t, V>(s{})", i);
  }
  parameters.emplace_back("element_t* __restrict__ out");
  return fmt::format(R"({}typedef {} element_t;
constexpr int V = {};
extern "C" __global__ void __launch_bounds__({}) movement_chain({}) {{
  start_next();
  wait_for_earlier();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= {}u) return;
  const bool aligned = {};
  Pack<element_t, V> pack;
{}  store_pack<element_t, V>(out + index_t(i) * V, pack, aligned);
}}
)",
                     prelude(), types.at(chain.element_bytes), pack, movement_chain_block,
                     joined(parameters, ", "), chain.result().elements() / pack, aligned,
                     Writer(chain, pack).text());
}

} // namespace lanner::cuda
