// Construction, access and modification of tensor sequences. A sequence is immutable: a modification makes a
// new one that shares the tensors.

#include "base/check.h"
#include "ops/control/control_flow.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

using Items = std::vector<Item>;

static const Items& items_of(const KernelContext& context, std::size_t i) {
  const Item& item = context.item(i);
  check(item.is_sequence(), ErrorCode::invalid_argument, "{}: input {} is not a sequence",
        context.node().kind(), i);
  return *item.items;
}

static const Type& element_of(const InferContext& context, std::size_t i) {
  const Type& type = context.input(i);
  check(type.kind() == Type::Kind::sequence, ErrorCode::invalid_argument,
        "{}: input {} is {}, expected a sequence", context.node().kind(), i, type.to_string());
  return type.element();
}

/// The position given by input `i` among `count` elements, from the front; `fallback` when it is absent.
static std::size_t position_of(const KernelContext& context, std::size_t i, std::size_t count,
                               std::size_t fallback) {
  if (!context.has(i)) return fallback;
  const std::int64_t position = read_integer(context.input(i), "position");
  return static_cast<std::size_t>(resolve_index(position, static_cast<std::int64_t>(count)));
}

static OpDef sequence_op(std::string name, int min_inputs, int max_inputs, std::vector<OperandSpec> operands,
                         void (*infer)(InferContext&), void (*run)(KernelContext&)) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = min_inputs;
  op.max_inputs = max_inputs;
  op.operands = std::move(operands);
  op.traits = of_pattern(Pattern::container);
  op.infer = infer;
  op.reference = run;
  return op;
}

static OperandSpec position_operand() {
  return one_element("position", dtypes::counts);
}

static OpDef construct_op() {
  return sequence_op(
      "sequence_construct", 1, OpDef::any, {any_operand("element")},
      [](InferContext& context) {
        Type element = context.input(0);
        for (std::size_t i = 1; i < context.inputs(); ++i)
          element = common_type(context, element, context.input(i), "sequence_construct: an element");
        context.set_output(0, Type::sequence(std::move(element)));
      },
      [](KernelContext& context) {
        Items items;
        for (std::size_t i = 0; i < context.inputs(); ++i) items.push_back(context.item(i));
        context.set_item(0, sequence_of(std::move(items)));
      });
}

static OpDef empty_op() {
  OpDef op = sequence_op(
      "sequence_empty", 0, 0, {},
      [](InferContext& context) {
        const DType dtype = context.attributes().get<DType>("dtype", DType::f32);
        context.set_output(0, Type::sequence(Type::unranked(dtype)));
      },
      [](KernelContext& context) { context.set_item(0, sequence_of({})); });
  op.attributes = {dtype_attribute("dtype", DType::f32, dtypes::any)};
  return op;
}

static OpDef at_op() {
  return sequence_op(
      "sequence_at", 2, 2, {sequence_operand(), position_operand()},
      [](InferContext& context) { context.set_output(0, element_of(context, 0)); },
      [](KernelContext& context) {
        const Items& items = items_of(context, 0);
        context.set_item(0, items[position_of(context, 1, items.size(), 0)]);
      });
}

static OpDef insert_op() {
  return sequence_op(
      "sequence_insert", 2, 3, {sequence_operand(), any_operand("element"), position_operand()},
      [](InferContext& context) {
        context.set_output(0, Type::sequence(common_type(context, element_of(context, 0), context.input(1),
                                                         "sequence_insert: an element")));
      },
      [](KernelContext& context) {
        Items items = items_of(context, 0);
        // One position more than there are elements; -1 inserts before the last element.
        std::size_t position = items.size();
        if (context.has(2)) {
          const auto count = static_cast<std::int64_t>(items.size());
          const std::int64_t given = read_integer(context.input(2), "position");
          check(given >= -count && given <= count, ErrorCode::invalid_argument,
                "sequence_insert: position {} out of range for {} elements", given, count);
          position = static_cast<std::size_t>(given < 0 ? given + count : given);
        }
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(position), context.item(1));
        context.set_item(0, sequence_of(std::move(items)));
      });
}

static OpDef erase_op() {
  return sequence_op(
      "sequence_erase", 1, 2, {sequence_operand(), position_operand()},
      [](InferContext& context) { context.set_output(0, Type::sequence(element_of(context, 0))); },
      [](KernelContext& context) {
        Items items = items_of(context, 0);
        check(!items.empty(), ErrorCode::invalid_argument, "sequence_erase: the sequence is empty");
        const std::size_t place = position_of(context, 1, items.size(), items.size() - 1);
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
        context.set_item(0, sequence_of(std::move(items)));
      });
}

static OpDef length_op() {
  return sequence_op(
      "sequence_length", 1, 1, {sequence_operand()},
      [](InferContext& context) {
        element_of(context, 0);
        context.set_output(0, Type(DType::i64, Dims{}));
      },
      [](KernelContext& context) {
        context.output(0).as<std::int64_t>()[0] = static_cast<std::int64_t>(items_of(context, 0).size());
      });
}

/// Runs the region once for each element of the first input; of other inputs it gets the element at the same
/// position, or, where they are tensors, the whole tensor.
static void run_sequence_map(KernelContext& context) {
  const std::size_t count = items_of(context, 0).size();
  std::vector<Items> results(context.outputs());
  for (std::size_t k = 0; k < count; ++k) {
    Items parameters;
    for (std::size_t i = 0; i < context.inputs(); ++i) {
      const Item& item = context.item(i);
      check(!item.is_sequence() || item.items->size() == count, ErrorCode::invalid_argument,
            "sequence_map: input {} has {} elements, the first has {}", i,
            item.items ? item.items->size() : 0, count);
      parameters.push_back(item.is_sequence() ? (*item.items)[k] : item);
    }
    Items given = context.run_region(0, parameters);
    check(given.size() == results.size(), ErrorCode::internal, "sequence_map: the body gives {} values",
          given.size());
    for (std::size_t i = 0; i < results.size(); ++i) results[i].push_back(std::move(given[i]));
  }
  for (std::size_t i = 0; i < results.size(); ++i) context.set_item(i, sequence_of(std::move(results[i])));
}

static OpDef map_op() {
  OpDef op = sequence_op(
      "sequence_map", 1, OpDef::any, {sequence_operand(), any_operand("input")},
      [](InferContext& context) {
        std::vector<Type> parameters = {element_of(context, 0)};
        for (std::size_t i = 1; i < context.inputs(); ++i) {
          const Type& type = context.input(i);
          parameters.push_back(type.kind() == Type::Kind::sequence ? type.element() : type);
        }
        const std::vector<Type> results = context.infer_region(0, parameters);
        check(results.size() == context.outputs(), ErrorCode::invalid_argument,
              "sequence_map: the body gives {} values, the node has {} outputs", results.size(),
              context.outputs());
        for (std::size_t i = 0; i < results.size(); ++i) context.set_output(i, Type::sequence(results[i]));
      },
      run_sequence_map);
  op.regions = 1;
  op.max_outputs = OpDef::any;
  return op;
}

std::vector<OpDef> sequence_ops() {
  return {construct_op(), empty_op(), at_op(), insert_op(), erase_op(), length_op(), map_op()};
}

} // namespace lanner::ops
