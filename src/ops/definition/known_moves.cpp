#include "ops/definition/known_moves.h"

#include <vector>

#include "graph/known_results.h"
#include "ops/definition/known.h"

namespace lanner::ops {

/// Placeholders for elements: their numbers among the moved ones, from 1 on; 0 is a zero.
static Tensor numbered(const Shape& shape, std::int64_t first) {
  Tensor numbers = Tensor::allocate(DType::i64, shape);
  for (std::int64_t& number : numbers.as<std::int64_t>()) number = first++;
  return numbers;
}

void set_known_moved(InferContext& context, const Type& type, std::size_t moved) {
  if (!is_integer(type.dtype()) || !type.is_static() || type.shape().elements() > max_known_elements) return;
  Dims elements = {Dim(0)};
  std::vector<Tensor> held(context.node().inputs().size());
  std::vector<const Tensor*> inputs(held.size(), nullptr);
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.has(i)) continue;
    if (i < moved) {
      const auto known = known_elements(context, i);
      const auto shape = static_shape(context, i);
      if (!known || !shape) return;
      held[i] = numbered(*shape, static_cast<std::int64_t>(elements.size()));
      elements.insert(elements.end(), known->begin(), known->end());
    } else {
      if (!context.known(i).tensor) return;
      held[i] = *context.known(i).tensor;
    }
    inputs[i] = &held[i];
  }
  const Type types[] = {type.with_dtype(DType::i64)};
  const std::vector<Tensor> made = run_definition(context.node(), inputs, types);
  Dims placed;
  for (const std::int64_t number : made.front().as<std::int64_t>())
    placed.push_back(elements.at(static_cast<std::size_t>(number)));
  set_known_elements(context, 0, type, std::move(placed));
}

} // namespace lanner::ops
