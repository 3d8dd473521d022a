#include "ops/product/einsum.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/check.h"
#include "ops/convolution/window.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/product/matrix_product.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != ' ') result += c;
  return result;
}

static std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (const char c : text) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

/// Labels of one term, where the ellipsis represents `hidden` axes.
static std::vector<EinsumLabel> parse_term(const std::string& term, std::size_t hidden) {
  std::vector<EinsumLabel> labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      check(!seen && term.compare(i, 3, "...") == 0, ErrorCode::invalid_argument,
            "equation: term \"{}\" has a wrong ellipsis", term);
      for (std::size_t h = hidden; h-- > 0;) labels.push_back(first_hidden_label + h);
      seen = true;
      i += 2;
      continue;
    }
    const auto letter = static_cast<unsigned char>(term[i]);
    check(letter < 128 && std::isalpha(letter), ErrorCode::invalid_argument,
          "equation: term \"{}\" holds '{}', expected a letter", term, term[i]);
    labels.push_back(letter);
  }
  return labels;
}

static std::vector<EinsumLabel> implicit_output(const std::vector<std::vector<EinsumLabel>>& operands,
                                                std::size_t hidden) {
  std::array<int, first_hidden_label> counts{};
  for (const auto& labels : operands)
    for (const EinsumLabel label : labels)
      if (label < first_hidden_label) ++counts[label];
  std::vector<EinsumLabel> output;
  for (std::size_t h = hidden; h-- > 0;) output.push_back(first_hidden_label + h);
  for (EinsumLabel label = 0; label < first_hidden_label; ++label)
    if (counts[label] == 1) output.push_back(label);
  return output;
}

EinsumTerms parse_equation(const std::string& equation, std::span<const std::size_t> ranks) {
  const std::string text = without_spaces(equation);
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = split_terms(text.substr(0, arrow));
  check(terms.size() == ranks.size(), ErrorCode::invalid_argument,
        "equation \"{}\" has {} terms for {} inputs", equation, terms.size(), ranks.size());
  EinsumTerms parsed;
  std::size_t max_hidden = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t named = parse_term(terms[i], 0).size();
    const bool elliptic = terms[i].find('.') != std::string::npos;
    check(named == ranks[i] || (elliptic && named < ranks[i]), ErrorCode::invalid_argument,
          "equation: term \"{}\" does not fit an input of rank {}", terms[i], ranks[i]);
    max_hidden = std::max(max_hidden, ranks[i] - named);
    parsed.operands.push_back(parse_term(terms[i], ranks[i] - named));
  }
  parsed.output = arrow == std::string::npos ? implicit_output(parsed.operands, max_hidden)
                                             : parse_term(text.substr(arrow + 2), max_hidden);
  for (std::size_t i = 0; i < parsed.output.size(); ++i) {
    const auto end = parsed.output.begin() + static_cast<std::ptrdiff_t>(i);
    check(std::find(parsed.output.begin(), end, *end) == end, ErrorCode::invalid_argument,
          "equation \"{}\" has an output axis twice", equation);
  }
  return parsed;
}

static void infer_einsum(InferContext& context) {
  const DType type = context.input(0).dtype();
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.input(i).ranked()) return context.set_output(0, Type::unranked(type));
    ranks.push_back(context.input(i).rank());
  }
  const EinsumTerms terms = parse_equation(context.attributes().get<std::string>("equation"), ranks);
  std::map<EinsumLabel, Dim> sizes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t d = 0; d < ranks[i]; ++d) {
      const Dim& size = context.input(i).dims()[d];
      const auto [place, added] = sizes.try_emplace(terms.operands[i][d], size);
      if (!added) place->second = broadcast_dim(place->second, size);
    }
  }
  Dims dims;
  for (const EinsumLabel label : terms.output) {
    const auto found = sizes.find(label);
    check(found != sizes.end(), ErrorCode::invalid_argument, "equation: an output axis is not in any input");
    dims.push_back(found->second);
  }
  context.set_output(0, Type(type, std::move(dims)));
}

/// Loops of one contraction: sizes of the output's and of the summed axes, and each operand's strides along
/// them.
struct Contraction {
  std::vector<std::int64_t> output, summed;
  std::vector<std::vector<std::int64_t>> output_steps, summed_steps; ///< By operand, then by axis.
};

static Contraction plan_contraction(const EinsumTerms& terms, const std::vector<Shape>& shapes) {
  std::map<EinsumLabel, std::int64_t> sizes;
  std::vector<EinsumLabel> summed;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t d = 0; d < shapes[i].rank(); ++d) {
      const EinsumLabel label = terms.operands[i][d];
      const auto [place, added] = sizes.try_emplace(label, shapes[i][d]);
      if (place->second == 1) place->second = shapes[i][d];
      if (added && std::find(terms.output.begin(), terms.output.end(), label) == terms.output.end())
        summed.push_back(label);
    }
  }
  Contraction plan;
  for (const EinsumLabel label : terms.output) plan.output.push_back(sizes[label]);
  for (const EinsumLabel label : summed) plan.summed.push_back(sizes[label]);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<std::int64_t> dense = dense_strides(shapes[i]);
    const auto steps = [&](std::span<const EinsumLabel> labels) {
      std::vector<std::int64_t> found(labels.size(), 0);
      for (std::size_t k = 0; k < labels.size(); ++k)
        for (std::size_t d = 0; d < shapes[i].rank(); ++d)
          if (terms.operands[i][d] == labels[k] && shapes[i][d] != 1) found[k] += dense[d];
      return found;
    };
    plan.output_steps.push_back(steps(terms.output));
    plan.summed_steps.push_back(steps(summed));
  }
  return plan;
}

static std::int64_t offset_of(std::span<const std::int64_t> index, std::span<const std::int64_t> steps) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * steps[d];
  return offset;
}

template<typename T>
static T contract_one(const Contraction& plan, std::span<const T* const> operands,
                      std::span<const std::int64_t> position) {
  std::vector<const T*> starts(operands.begin(), operands.end());
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] += offset_of(position, plan.output_steps[i]);
  std::vector<std::int64_t> index(plan.summed.size(), 0);
  const bool sums = !plan.summed.empty();
  const std::size_t outer = sums ? plan.summed.size() - 1 : 0;
  const std::int64_t count = sums ? plan.summed.back() : 1;
  T total{};
  do {
    for (std::int64_t k = 0; k < count; ++k) {
      T product{1};
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::int64_t base = offset_of(std::span(index).first(outer), plan.summed_steps[i]);
        product = multiply_add(T{0}, product, starts[i][base + (sums ? k * plan.summed_steps[i].back() : 0)]);
      }
      total = multiply_add(total, product, T{1});
    }
  } while (next_index(std::span(index).first(outer), std::span(plan.summed).first(outer)));
  return total;
}

static void run_einsum(KernelContext& context) {
  const DType given = context.output(0).dtype(), type = is_float(given) ? compute_dtype(given) : given;
  WideOutput y(context.output(0), type);
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    inputs.push_back(to_dtype(context.input(i), type));
    shapes.push_back(inputs.back().shape());
    ranks.push_back(inputs.back().rank());
  }
  const auto terms = parse_equation(context.attributes().get<std::string>("equation"), ranks);
  const Contraction plan = plan_contraction(terms, shapes);
  const bool empty = Window::product_of(plan.summed) == 0;
  visit_dtype(type, decltype(join(Types<float, double>{}, IntegerTypes{})){}, [&]<typename T>(Tag<T>) {
    std::vector<const T*> operands;
    for (const Tensor& input : inputs) operands.push_back(input.as<T>().data());
    const auto out = y.as<T>();
    for_each_row(context.threads(), static_cast<std::int64_t>(out.size()), [&](std::int64_t at) {
      std::vector<std::int64_t> position(plan.output.size());
      std::int64_t rest = at;
      for (std::size_t d = position.size(); d-- > 0; rest /= plan.output[d])
        position[d] = rest % plan.output[d];
      out[static_cast<std::size_t>(at)] = empty ? T{} : contract_one<T>(plan, operands, position);
    });
  });
  y.store();
}

std::vector<OpDef> einsum_ops() {
  return {OpDef{.name = "einsum",
                .min_inputs = 1,
                .max_inputs = OpDef::any,
                .operands = {{"input", dtypes::numbers, 'T'}},
                .attributes = {required_attribute("equation", AttributeKind::string, any_text())},
                .infer = infer_einsum,
                .reference = run_einsum,
                .expand = {},
                .traits = {.pattern = Pattern::contraction, .accumulates = true}}};
}

} // namespace lanner::ops
