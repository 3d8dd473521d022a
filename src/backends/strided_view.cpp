#include "backends/strided_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/movement/boxes.h"
#include "ops/movement/transpose.h"

namespace lanner {

namespace {

std::int64_t size_of(const StridedDim& dim) {
  std::int64_t size = 1;
  for (const StridedFactor& factor : dim) size *= factor.size;
  return size;
}

/// Drops factors of one element, and merges adjacent factors with a common stride.
StridedDim merged(const StridedDim& dim) {
  StridedDim result;
  for (const StridedFactor& factor : dim) {
    if (factor.size == 1) continue;
    if (!result.empty() && result.back().stride == factor.size * factor.stride)
      result.back() = {result.back().size * factor.size, factor.stride};
    else
      result.push_back(factor);
  }
  return result;
}

/// Takes a dim of `size` from the end of `rest`.
std::optional<StridedDim> take(StridedDim& rest, std::int64_t size) {
  StridedDim dim;
  while (size > 1) {
    if (rest.empty()) return std::nullopt;
    StridedFactor& last = rest.back();
    if (size % last.size == 0) {
      size /= last.size;
      dim.insert(dim.begin(), last);
      rest.pop_back();
    } else if (last.size % size == 0) {
      dim.insert(dim.begin(), {size, last.stride});
      last = {last.size / size, last.stride * size};
      size = 1;
    } else {
      return std::nullopt;
    }
  }
  return dim;
}

} // namespace

StridedView StridedView::dense(const Shape& shape) {
  StridedView view;
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    view.dims_.insert(view.dims_.begin(), shape[i] == 1 ? StridedDim{} : StridedDim{{shape[i], stride}});
    stride *= shape[i];
  }
  return view;
}

Shape StridedView::shape() const {
  std::vector<std::int64_t> sizes;
  for (const StridedDim& dim : dims_) sizes.push_back(size_of(dim));
  return Shape(sizes);
}

std::optional<StridedView> StridedView::reshaped(const Shape& shape) const {
  StridedDim rest = joined_dims(*this, 0, dims_.size());
  StridedView view;
  view.offset_ = offset_;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    auto dim = take(rest, shape[i]);
    if (!dim) return std::nullopt;
    view.dims_.insert(view.dims_.begin(), merged(*dim));
  }
  return rest.empty() ? std::optional(std::move(view)) : std::nullopt;
}

StridedView StridedView::transposed(const std::vector<std::size_t>& order) const {
  StridedView view;
  view.offset_ = offset_;
  for (const std::size_t axis : order) view.dims_.push_back(dims_.at(axis));
  return view;
}

std::optional<StridedView> StridedView::broadcast(const Shape& shape) const {
  if (dims_.size() > shape.rank()) return std::nullopt;
  StridedView view;
  view.offset_ = offset_;
  const std::size_t added = shape.rank() - dims_.size();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t own = i < added ? 1 : size_of(dims_[i - added]);
    if (own != shape[i] && own != 1) return std::nullopt;
    if (own == shape[i])
      view.dims_.push_back(i < added ? StridedDim{} : dims_[i - added]);
    else
      view.dims_.push_back({{shape[i], 0}});
  }
  return view;
}

std::optional<StridedView> StridedView::sliced(const GroupOp& op) const {
  const auto axes = slice_axes(op);
  if (!axes) return std::nullopt;
  const Shape from = op.input(0).shape(), &to = op.type().shape();
  StridedView view = *this;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto [start, step] = (*axes)[i];
    if (start == 0 && step == 1 && to[i] == from[i]) continue;
    const StridedDim dim = merged(dims_[i]);
    if (dim.size() != 1) return std::nullopt;
    view.offset_ += start * dim.front().stride;
    view.dims_[i] = merged({{to[i], dim.front().stride * step}});
  }
  return view;
}

std::optional<StridedView> StridedView::through(const GroupOp& op) const {
  if (op.kind() == "transpose")
    return transposed(ops::transpose_order(op.attributes(), op.input(0).shape().rank()));
  if (op.type().shape().elements() == 0) return std::nullopt;
  if (op.kind() == "reshape") return reshaped(op.type().shape());
  if (op.kind() == "expand") return broadcast(op.type().shape());
  return op.kind() == "slice" ? sliced(op) : std::nullopt;
}

std::optional<StridedView> StridedView::before(const GroupOp& op) const {
  const Shape source = op.input(0).shape();
  if (op.kind() == "reshape") return source.elements() == 0 ? std::nullopt : reshaped(source);
  if (op.kind() != "transpose") return std::nullopt;
  const auto order = ops::transpose_order(op.attributes(), source.rank());
  std::vector<std::size_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  return transposed(back);
}

StridedDim joined_dims(const StridedView& view, std::size_t first, std::size_t last) {
  StridedDim all;
  for (std::size_t i = first; i < last; ++i)
    all.insert(all.end(), view.dims()[i].begin(), view.dims()[i].end());
  return merged(all);
}

std::string offset_text(const StridedDim& dim, const std::string& index) {
  std::string text;
  std::int64_t inner = size_of(dim);
  for (const StridedFactor& factor : dim) {
    const bool outermost = inner == size_of(dim);
    inner /= factor.size;
    if (factor.stride == 0) continue;
    std::string digit = inner == 1 ? index : fmt::format("{} / {}u", index, inner);
    if (!outermost) digit = fmt::format("({}) % {}u", digit, factor.size);
    text += fmt::format("{}index_t({}) * {}ll", text.empty() ? "" : " + ", digit, factor.stride);
  }
  return text.empty() ? "0" : text;
}

} // namespace lanner
