// Lists of tensors of one shape: TensorList, and TensorArray of TensorFlow 1. A list is a tensor whose first
// dim counts the elements. Sizes of the elements that are not known where the list is made are 0 until the
// first element is written. Of a TensorArray's two results the second, the flow, is the list.

#include <algorithm>
#include <numeric>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/control_flow/loop_parts.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

Value* concat(RuleContext& context, std::vector<Value*> parts) {
  return parts.size() == 1 ? parts[0]
                           : context.emit("concat", std::move(parts), with("axis", std::int64_t{0}));
}

/// A part of a list of integers.
Value* part(RuleContext& context, Value* list, std::int64_t begin, std::int64_t end) {
  return context.emit("slice", {list, context.ints({begin}), context.ints({end})});
}

Value* zeros(RuleContext& context, DType type, Value* shape) {
  return context.emit("expand", {context.scalar(type, 0), shape});
}

Value* single(RuleContext& context, std::size_t i) {
  return context.emit("reshape", {integers(context, i), context.ints({1})});
}

/// Zeros for the elements, whose sizes are those known of `sizes` (-1: not known). Of unknown rank: one size.
Value* new_list(RuleContext& context, DType type, Value* count, std::vector<std::int64_t> sizes) {
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 0);
  std::vector<Value*> shape{count};
  if (!sizes.empty()) shape.push_back(context.ints(std::move(sizes)));
  return zeros(context, type, concat(context, std::move(shape)));
}

/// Input `i`, the shape of elements: -1 alone is any shape.
std::vector<std::int64_t> element_sizes(const RuleContext& context, std::size_t i) {
  const Tensor* given = context.constant(i);
  return given ? known_integers(context, i) : std::vector<std::int64_t>{-1};
}

void reserve(RuleContext& context) {
  context.set_output(
      0, new_list(context, context.dtype("element_dtype"), single(context, 1), element_sizes(context, 0)));
}

void empty_list(RuleContext& context) {
  context.set_output(
      0, new_list(context, context.dtype("element_dtype"), context.ints({0}), element_sizes(context, 0)));
}

void tensor_array(RuleContext& context) {
  std::vector<std::int64_t> sizes{-1};
  if (const auto* given = context.attribute("element_shape"))
    if (const Type* type = std::get_if<Type>(given); type && type->ranked()) {
      sizes.clear();
      for (const Dim& dim : type->dims()) sizes.push_back(dim.constant().value_or(-1));
    }
  context.set_output(0, context.ints({0}));
  context.set_output(1, new_list(context, context.dtype("dtype"), single(context, 0), std::move(sizes)));
}

/// Whether the list's elements have the sizes of `element`, as far as is known before running.
bool fits(const Value& list, const Value& element) {
  for (std::size_t d = 0; d < element.type.rank(); ++d)
    if (list.type.dims()[d + 1] != element.type.dims()[d]) return false;
  return true;
}

/// The list with elements of the sizes of `element`, whose sizes are at least those of the list, and with
/// `count` elements at least.
Value* grown(RuleContext& context, Value* list, Value* element, Value* count) {
  check(element->type.ranked() && list->type.ranked() && list->type.rank() == element->type.rank() + 1,
        ErrorCode::unsupported,
        "the shape of a list's elements must be known where it is made; expected element_shape, or a loop "
        "that writes one element in each iteration, in order");
  if (!count && fits(*list, *element)) return list;
  const auto rank = static_cast<std::int64_t>(list->type.rank());
  Value* shape = context.emit("shape", {list});
  Value* length = part(context, shape, 0, 1);
  if (count) length = context.emit("max", {length, count});
  std::vector<Value*> wanted{length};
  if (rank > 1) wanted.push_back(context.emit("shape", {element}));
  Value* more = context.emit("sub", {concat(context, std::move(wanted)), shape});
  Value* pads = concat(context, {context.ints(std::vector<std::int64_t>(list->type.rank(), 0)), more});
  return context.emit("pad", {list, pads});
}

void write(RuleContext& context, Value* list, std::size_t index, Value* element, bool may_grow) {
  Value* place = single(context, index);
  Value* count = may_grow ? context.emit("add", {place, context.ints({1})}) : nullptr;
  list = grown(context, list, element, count);
  Value* row = context.emit("unsqueeze", {element, context.ints({0})});
  Value* at = context.emit("reshape", {place, context.ints({1, 1})});
  context.set_output(0, context.emit("scatter_nd", {list, at, row}));
}

void set_item(RuleContext& context) {
  write(context, context.required(0), 1, context.required(2),
        context.integer("resize_if_index_out_of_bounds", 0) != 0);
}

/// Whether an array may grow is known where it is made; one whose length is a constant above 0 does not.
void write_array(RuleContext& context) {
  Value* flow = context.required(3);
  const bool fixed = flow->type.ranked() && flow->type.rank() > 0 && flow->type.dims()[0].is_constant() &&
                     flow->type.dims()[0].value() > 0;
  write(context, flow, 1, context.required(2), !fixed);
}

void push_back(RuleContext& context) {
  Value* element = context.required(1);
  Value* list = grown(context, context.required(0), element, nullptr);
  context.set_output(0, concat(context, {list, context.emit("unsqueeze", {element, context.ints({0})})}));
}

void pop_back(RuleContext& context) {
  Value* list = context.required(0);
  context.set_output(0, part(context, list, 0, -1));
  context.set_output(1, context.emit("gather", {list, context.tensor(Tensor::scalar<std::int64_t>(-1))},
                                     with("axis", std::int64_t{0})));
}

Value* elements_at(RuleContext& context, Value* list, std::size_t index) {
  return context.emit("gather", {list, integers(context, index)}, with("axis", std::int64_t{0}));
}

/// Whether input `i` is 0, 1, ... up to the length of `list`.
bool names_all(const RuleContext& context, std::size_t i, const Value& list) {
  if (!context.constant(i) || !list.type.ranked() || list.type.rank() == 0) return false;
  std::vector<std::int64_t> all(known_integers(context, i).size());
  std::iota(all.begin(), all.end(), 0);
  return all == known_integers(context, i) &&
         list.type.dims()[0] == Dim(static_cast<std::int64_t>(all.size()));
}

Rule gather(std::size_t list, std::size_t indices) {
  return [list, indices](RuleContext& context) {
    Value* from = context.required(list);
    context.set_output(0, names_all(context, indices, *from) ? from : elements_at(context, from, indices));
  };
}

void get_item(RuleContext& context) {
  context.set_output(0, elements_at(context, context.required(0), 1));
}

void read_array(RuleContext& context) {
  context.set_output(0, elements_at(context, context.required(2), 1));
}

void scatter_array(RuleContext& context) {
  Value *elements = context.required(2), *list = context.required(3);
  check(elements->type.ranked() && elements->type.rank() > 0 && list->type.ranked() && list->type.rank() > 0,
        ErrorCode::unsupported, "the rank of the elements is not known before running");
  const Dim& count = list->type.dims()[0];
  if (names_all(context, 1, *elements) && (count == elements->type.dims()[0] || count == Dim(0)))
    return context.set_output(0, elements);
  if (is_unwritten_list(list->type, elements->type)) {
    std::vector<Value*> shape{part(context, context.emit("shape", {list}), 0, 1)};
    const auto rank = static_cast<std::int64_t>(elements->type.rank());
    if (rank > 1) shape.push_back(part(context, context.emit("shape", {elements}), 1, rank));
    list = zeros(context, elements->type.dtype(), concat(context, std::move(shape)));
  }
  Value* at = context.emit("unsqueeze", {integer_list(context, 1), context.ints({1})});
  context.set_output(0, context.emit("scatter_nd", {list, at, elements}));
}

Rule length(std::size_t list) {
  return [list](RuleContext& context) {
    Value* count = context.emit(
        "reshape", {part(context, context.emit("shape", {context.required(list)}), 0, 1), context.ints({})});
    context.set_output(0, cast(context, count, DType::i32));
  };
}

void element_shape(RuleContext& context) {
  Value* list = context.required(0);
  check(list->type.ranked() && list->type.rank() > 0 &&
            std::ranges::none_of(list->type.dims(), [](const Dim& dim) { return dim == Dim(0); }),
        ErrorCode::unsupported, "the shape of the list's elements is not known before running");
  Value* shape = context.emit("shape", {list});
  context.set_output(0, cast(context, part(context, shape, 1, static_cast<std::int64_t>(list->type.rank())),
                             context.dtype("shape_type")));
}

} // namespace

bool is_unwritten_list(const Type& list, const Type& elements) {
  return list.rank() != elements.rank() || std::any_of(list.dims().begin() + 1, list.dims().end(),
                                                       [](const Dim& dim) { return dim == Dim(0); });
}

void add_list_rules(Rules& rules) {
  rules["TensorListReserve"] = reserve;
  rules["EmptyTensorList"] = empty_list;
  rules["TensorListFromTensor"] = [](RuleContext& context) { context.set_output(0, context.required(0)); };
  rules["TensorListStack"] = rules["TensorListFromTensor"];
  rules["TensorListSetItem"] = set_item;
  rules["TensorListGetItem"] = get_item;
  rules["TensorListGather"] = gather(0, 1);
  rules["TensorListPushBack"] = push_back;
  rules["TensorListPopBack"] = pop_back;
  rules["TensorListLength"] = length(0);
  rules["TensorListElementShape"] = element_shape;
  rules["TensorArrayV3"] = tensor_array;
  rules["TensorArrayWriteV3"] = write_array;
  rules["TensorArrayReadV3"] = read_array;
  rules["TensorArrayGatherV3"] = gather(2, 1);
  rules["TensorArrayScatterV3"] = scatter_array;
  rules["TensorArraySizeV3"] = length(1);
}

} // namespace lanner::tensorflow
