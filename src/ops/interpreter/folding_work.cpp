#include "ops/interpreter/folding_work.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/product/einsum.h"

namespace lanner::ops {

namespace {

constexpr std::uint64_t max_products = std::uint64_t{1} << 32;
constexpr std::uint64_t max_iterations = 1U << 14; // Of a loop that is folded.

std::uint64_t bounded_product(std::uint64_t a, std::int64_t b) {
  const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(b, 1));
  return a > max_products / factor ? max_products + 1 : a * factor;
}

/// The upper limit where the count is data-dependent.
std::int64_t elements(const Value* value) {
  if (!value) return 1;
  const bool known = value->type.is_tensor() && value->type.is_static();
  return known ? value->type.shape().elements() : std::int64_t{max_products} + 1;
}

std::int64_t size(const Value* value, std::size_t dim) {
  const bool known = value && value->type.is_tensor() && value->type.is_static() && dim < value->type.rank();
  return known ? std::max<std::int64_t>(value->type.dims()[dim].value(), 1) : 1;
}

std::int64_t largest_input(const Node& node) {
  std::int64_t most = 1;
  for (const Value* input : node.inputs()) most = std::max(most, elements(input));
  return most;
}

/// An einsum visits one position for each combination of its labels: a short equation and few bytes can have
/// any number of them.
std::uint64_t contraction(const Node& node) {
  std::vector<std::size_t> ranks;
  for (const Value* input : node.own_inputs()) {
    if (!input || !input->type.is_tensor() || !input->type.is_static()) return max_products + 1;
    ranks.push_back(input->type.rank());
  }
  const EinsumTerms terms = parse_equation(node.attributes.string("equation", ""), ranks);
  std::map<EinsumLabel, std::int64_t> sizes;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (std::size_t d = 0; d < ranks[i]; ++d) {
      std::int64_t& known = sizes[terms.operands[i][d]];
      known = std::max(known, node.input(i)->type.dims()[d].value());
    }
  std::uint64_t places = 1;
  for (const auto& [label, size] : sizes) places = bounded_product(places, size);
  return places;
}

/// Each output element is a sum over a row of the first operand.
std::uint64_t product(const Node& node) {
  const Value* a = node.input(0);
  const std::size_t rank = a && a->type.ranked() ? a->type.rank() : 0;
  const bool turned = node.kind() == "gemm" && node.attributes.flag("transA");
  return bounded_product(static_cast<std::uint64_t>(elements(node.output())),
                         rank == 0 ? 1 : size(a, turned ? 0 : rank - 1));
}

/// Each element of one side is multiplied by the weights of one channel.
std::uint64_t convolution(const Node& node, std::size_t weights) {
  const bool transposed = node.kind() == "conv_transpose";
  const Value* w = node.input(weights);
  return bounded_product(static_cast<std::uint64_t>(elements(transposed ? node.input(0) : node.output())),
                         elements(w) / size(w, 0));
}

std::uint64_t window(const Node& node) {
  auto taps = static_cast<std::uint64_t>(elements(node.output()));
  for (const std::int64_t extent : node.attributes.integers("kernel_shape"))
    taps = bounded_product(taps, extent);
  return taps;
}

/// Operators whose output elements may each read all of an input.
bool reads_whole_input(std::string_view kind) {
  static constexpr std::string_view kinds[] = {"attention",
                                               "linear_attention",
                                               "causal_conv_with_state",
                                               "col2_im",
                                               "det",
                                               "dft",
                                               "gru",
                                               "lrn",
                                               "lstm",
                                               "max_roi_pool",
                                               "ml.tree_ensemble",
                                               "non_max_suppression",
                                               "regex_full_match",
                                               "rnn",
                                               "roi_align",
                                               "stft",
                                               "tf_idf_vectorizer"};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

std::uint64_t outputs(const Node& node) {
  std::uint64_t count = 1;
  for (const auto& output : node.outputs()) count += static_cast<std::uint64_t>(elements(output.get()));
  return count;
}

/// Multiplications or similar operations of one node, without regions; 0 where the work is linear in its
/// bytes.
std::uint64_t work_of(const Node& node) {
  const std::string& kind = node.kind();
  if (kind == "einsum") return contraction(node);
  if (kind == "matmul" || kind == "gemm" || kind == "matmul_integer" || kind == "q_linear_matmul")
    return product(node);
  if (kind == "conv" || kind == "conv_transpose" || kind == "conv_integer" || kind == "deform_conv")
    return convolution(node, 1);
  if (kind == "q_linear_conv") return convolution(node, 3);
  if (kind.ends_with("_pool") && node.attributes.has("kernel_shape")) return window(node);
  if (kind == "roi_align") return bounded_product(outputs(node), 4096 * 4096);
  return reads_whole_input(kind) ? bounded_product(outputs(node), largest_input(node)) : 0;
}

bool is_within(const Node& node, std::uint64_t most) {
  if (work_of(node) > most) return false;
  return std::ranges::all_of(node.regions(), [&](const auto& region) {
    return std::ranges::all_of(region->nodes(),
                               [&](const auto& inner) { return is_within(*inner, most / max_iterations); });
  });
}

} // namespace

bool is_little_work(const Node& node) {
  return is_within(node, max_products);
}

} // namespace lanner::ops
