#include "backends/product/product.h"

#include "backends/operand_storages.h"
#include "backends/storage_layout.h"

namespace lanner {

namespace {

/// Reads gemm's third input as bias or as a first step. False when it is neither.
bool take_addend(Product& product, const Operand& addend) {
  const auto spread = spread_of(addend.shape(), product.result, product.result.rank() - 1);
  if (spread == Spread::channel && addend.shape().elements() == product.columns()) {
    product.bias = addend;
    return true;
  }
  if (spread == Spread::full) {
    product.epilogue.insert(product.epilogue.begin(), {BinaryKind::add, {}, addend, Spread::full});
    return true;
  }
  const auto scalar = scalar_value(addend.constant);
  if (!scalar) return false;
  product.epilogue.insert(product.epilogue.begin(),
                          {std::nullopt, {&formula("linear"), 1, *scalar}, {}, Spread::full});
  return true;
}

void take_bias_from_epilogue(Product& product) {
  if (product.bias || product.epilogue.empty()) return;
  const EpilogueStep& first = product.epilogue.front();
  if (first.binary != BinaryKind::add || first.spread != Spread::channel || first.operand.is_op()) return;
  product.bias = first.operand;
  product.epilogue.erase(product.epilogue.begin());
}

} // namespace

std::int64_t Product::depth() const {
  const Shape shape = a.shape();
  return transpose_a ? shape[shape.rank() - 2] : shape.back();
}

bool Product::single() const {
  return b.shape().rank() == 2 && (!transpose_a || a.shape().rank() == 2);
}

double Product::operations() const {
  return 2.0 * static_cast<double>(result.elements()) * static_cast<double>(depth());
}

std::optional<Product> product_of(const Group& group, std::string& reason) {
  if (group.empty()) return std::nullopt;
  const GroupOp& op = group.ops().front();
  const bool gemm = op.kind() == "gemm";
  if (!gemm && op.kind() != "matmul") return std::nullopt;
  Product product;
  product.a = op.input(0);
  product.b = op.input(1);
  product.result = op.type().shape();
  if (product.a.shape().rank() < 2 || product.b.shape().rank() < 2 || product.result.elements() == 0 ||
      product.depth() == 0) {
    reason = "a product with a vector operand or without elements";
    return std::nullopt;
  }
  if (gemm) {
    const AttributeMap& attributes = op.attributes();
    product.transpose_a = attributes.flag("transA");
    product.transpose_b = attributes.flag("transB");
    const bool scaled = attributes.real("alpha", 1) != 1 || (op.input(2) && attributes.real("beta", 1) != 1);
    if (scaled) {
      reason = "gemm with alpha or beta is not supported";
      return std::nullopt;
    }
  }
  auto epilogue = epilogue_of(group, product.result.rank() - 1, reason);
  if (!epilogue) return std::nullopt;
  product.epilogue = std::move(*epilogue);
  if (gemm && op.input(2) && !take_addend(product, op.input(2))) {
    reason = "gemm with a column as third input is not supported";
    return std::nullopt;
  }
  take_bias_from_epilogue(product);
  return product;
}

Layout exchanged_layout(const Shape& shape) {
  Layout layout;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    layout.order.push_back(static_cast<std::uint8_t>(axis));
  std::swap(layout.order[shape.rank() - 1], layout.order[shape.rank() - 2]);
  return canonical(layout, shape);
}

std::optional<std::vector<Storage>> product_storages(const Product& product, std::size_t inputs,
                                                     const Storage& a, const Storage& b,
                                                     const Storage& otherwise) {
  OperandStorages storages(inputs, otherwise);
  storages.ask(product.a, a);
  storages.ask(product.b, b);
  storages.ask(product.bias, otherwise);
  for (const EpilogueStep& step : product.epilogue) storages.ask(step.operand, otherwise);
  if (!storages.agree()) return std::nullopt;
  return storages.take();
}

} // namespace lanner
