// Operators that move elements: views, transpose, expand, tile, concat, split, slice, gather, scatter, pad
// and fills.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/infer.h"
#include "ops/node_run.h"
#include "ops/table/table.h"

using namespace lanner;
using namespace lanner::test;

static AttributeMap axis(std::int64_t value) {
  return attributes({{"axis", value}});
}

TEST(Shape, is_known_before_running) {
  EXPECT_EQ(known({"shape", {"f32[N, 3, H]"}}), "[N, 3, H]");
  EXPECT_EQ(
      known({"shape", {"f32[N, 3, H]"}, attributes({{"start", std::int64_t{-2}}, {"end", std::int64_t{9}}})}),
      "[3, H]");
  EXPECT_EQ(known({"size", {"f32[N, 3, 2]"}}), "[6*N]");
  EXPECT_EQ(show(run({"shape", {f32s({1, 2, 3}, {1, 3})}})), "i64[2](1, 3)");
}

TEST(Reshape, resolves_minus_one_and_zero) {
  EXPECT_EQ(inferred({"reshape", {"f32[N, 3, 4]", i64s({0, -1})}}), "f32[N, 12]");
  EXPECT_EQ(inferred({"reshape", {"f32[N, 3, 4]", i64s({-1, 6})}}), "f32[2*N, 6]");
  EXPECT_EQ(inferred({"reshape", {"f32[0, 3]", i64s({0, -1})}}), "f32[0, 3]");
  EXPECT_EQ(inferred({"reshape",
                      {
                          "f32[0, 3]",
                          i64s({3, 0}),
                      },
                      attributes({{"allowzero", std::int64_t{1}}})}),
            "f32[3, 0]");
  EXPECT_NE(inferred({"reshape", {"f32[7]", i64s({2, -1})}}).find("7 elements are not divisible"),
            std::string::npos);
  EXPECT_NE(inferred({"reshape", {"f32[7]", i64s({2, 3})}}).find("cannot hold"), std::string::npos);
  EXPECT_NE(inferred({"reshape", {"f32[7]", i64s({-1, -1})}}).find("two dims are -1"), std::string::npos);
}

TEST(Reshape, views_keep_what_is_known) {
  EXPECT_EQ(known({"unsqueeze", {i64s({3, 4}), i64s({0})}}), "[3, 4]");
  EXPECT_EQ(inferred({"unsqueeze", {"f32[N, 4]", i64s({0, -1})}}), "f32[1, N, 4, 1]");
  EXPECT_EQ(inferred({"squeeze", {"f32[1, N, 1]", i64s({0, -1})}}), "f32[N]");
  EXPECT_EQ(inferred({"squeeze", {"f32[1, 3, 1]"}}), "f32[3]");
  EXPECT_EQ(inferred({"squeeze", {"f32[1, N, 1]"}}), "f32[*]");
  EXPECT_EQ(inferred({"flatten", {"f32[N, 3, 4]"}, axis(-1)}), "f32[3*N, 4]");
  EXPECT_EQ(inferred({"flatten", {"f32[N, 3, 4]"}, axis(0)}), "f32[1, 12*N]");
}

TEST(Transpose, takes_each_axis_once) {
  const auto refused = [](const char* type, std::vector<std::int64_t> perm) {
    return inferred({"transpose", {type}, attributes({{"perm", ints(std::move(perm))}})});
  };
  EXPECT_EQ(refused("f32[N, 3, 4]", {2, 0, 1}), "f32[4, N, 3]");
  const std::string once = "expected each axis from 0 to 2 once";
  EXPECT_NE(refused("f32[N, 3, 4]", {0, -1, 1}).find("perm is [0, -1, 1], " + once), std::string::npos);
  EXPECT_NE(refused("f32[N, 3, 4]", {0, 1, 1}).find("perm is [0, 1, 1], " + once), std::string::npos);
  EXPECT_NE(refused("f32[N, 3, 4]", {0, 3, 1}).find("perm is [0, 3, 1], " + once), std::string::npos);
  EXPECT_NE(refused("f32[N, 3, 4]", {0, INT64_MIN, 1}).find(once), std::string::npos);
  EXPECT_NE(refused("f32[N, 3, 4]", {1, 0}).find("perm has 2 axes for rank 3"), std::string::npos);
  EXPECT_NE(refused("f32[N, 3, 4]", {}).find("perm has 0 axes for rank 3"), std::string::npos);
  // Also before the rank is known.
  EXPECT_NE(refused("f32[*]", {0, -1, 1}).find(once), std::string::npos);
  EXPECT_EQ(refused("f32[*]", {0, 2, 1}), "f32[*]");
}

TEST(Axes, more_axes_than_dims_are_refused) {
  const Tensor many = i64s(std::vector<std::int64_t>(70, 0));
  const std::string why = "has 70 axes, expected at most 2";
  EXPECT_NE(inferred({"reduce_sum", {"f32[N, 4]", many}}).find(why), std::string::npos);
  EXPECT_NE(inferred({"squeeze", {"f32[N, 4]", many}}).find(why), std::string::npos);
  EXPECT_NE(inferred({"slice", {"f32[N, 4]", many, many, many}}).find(why), std::string::npos);
  EXPECT_NE(inferred({"pad", {"f32[N, 4]", many, std::nullopt, many}}).find(why), std::string::npos);
  EXPECT_NE(inferred({"reduce_sum", {"f32[N, 4]", i64s({1, -1})}}).find("axes contain axis 1 twice"),
            std::string::npos);
}

// Exported from `x.view(x.size(0), -1, 4)`.
TEST(Reshape, shape_arithmetic_resolves_symbolically) {
  Graph graph(builtin_op_table());
  graph.symbols["N"];
  Value* x = graph.add_input("x", Type::parse("f32[N, 6, 2]"));
  const auto emit = [&](std::string_view op, std::vector<Value*> inputs, AttributeMap map = {}) {
    return graph.emit(op, inputs, std::move(map), Type{});
  };
  Value* shape = emit("shape", {x});
  Value* batch = emit("gather", {shape, graph.constant(i64s({0}, {}))});
  Value* one = emit("unsqueeze", {batch, graph.constant(i64s({0}))});
  Value* wanted = emit("concat", {one, graph.constant(i64s({-1, 4}))}, axis(0));
  Value* doubled = emit("mul", {one, graph.constant(i64s({2}))});
  Value* y = emit("reshape", {x, wanted});
  Value* z = emit("expand", {graph.constant(f32s({1}, {1, 1})), emit("concat", {doubled, one}, axis(0))});
  graph.add_output("y", y);
  graph.add_output("z", z);
  infer_types(graph);
  EXPECT_EQ(y->type.to_string(), "f32[N, 3, 4]");
  EXPECT_EQ(z->type.to_string(), "f32[2*N, N]");
}

// Exported from `torch.arange(x.size(0)).expand(...)` guarded by `where(shape == -1, 1, shape)`.
TEST(Where, selects_sizes_in_inference) {
  Graph graph(builtin_op_table());
  graph.symbols["N"];
  Value* x = graph.add_input("x", Type::parse("f32[N, 6]"));
  const auto emit = [&](std::string_view op, std::vector<Value*> inputs) {
    return graph.emit(op, inputs, {}, Type{});
  };
  Value* shape = emit("shape", {x});
  Value* guarded = emit(
      "where", {emit("equal", {shape, graph.constant(i64s({-1}))}), graph.constant(i64s({1, 1})), shape});
  Value* y = emit("expand", {graph.constant(f32s({0}, {1, 1})), guarded});
  Value* length =
      emit("squeeze", {emit("slice", {shape, graph.constant(i64s({0})), graph.constant(i64s({1}))})});
  Value* r = emit("range", {graph.constant(i64s({0}, {})), length, graph.constant(i64s({1}, {}))});
  graph.add_output("y", y);
  graph.add_output("r", r);
  infer_types(graph);
  EXPECT_EQ(y->type.to_string(), "f32[N, 6]");
  EXPECT_EQ(r->type.to_string(), "i64[N]");
}

TEST(Transpose, permutes_any_type) {
  EXPECT_EQ(show(run({"transpose", {f32s({1, 2, 3, 4, 5, 6}, {2, 3})}})), "f32[3, 2](1, 4, 2, 5, 3, 6)");
  EXPECT_EQ(show(run({"transpose",
                      {i64s({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})},
                      attributes({{"perm", ints({1, 2, 0})}})})),
            "i64[2, 2, 2](1, 5, 2, 6, 3, 7, 4, 8)");
  EXPECT_EQ(show(run({"transpose", {strings({"a", "b", "c", "d"}, {2, 2})}})),
            "string[2, 2](\"a\", \"c\", \"b\", \"d\")");
  Tensor nibbles = Tensor::allocate(DType::u4, Shape{2, 3}), out = Tensor::allocate(DType::u8, Shape{3, 2});
  copy_tensor(tensor<std::uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3}), nibbles);
  copy_tensor(run({"transpose", {nibbles}}), out);
  EXPECT_EQ(show(out), "u8[3, 2](1, 4, 2, 5, 3, 6)");
}

TEST(Expand, repeats_elements) {
  EXPECT_EQ(show(run({"expand", {f32s({1, 2}, {2, 1}), i64s({2, 1, 3})}})),
            "f32[2, 2, 3](1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2)");
  EXPECT_EQ(show(run({"tile", {f32s({1, 2, 3, 4}, {2, 2}), i64s({2, 2})}})),
            "f32[4, 4](1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4)");
  EXPECT_EQ(inferred({"expand", {"f32[N, 1]", "i64[2]"}}), "f32[expand, expand_2]");
  EXPECT_EQ(inferred({"expand", {"f32[3, 1]", "i64[2]"}}).substr(0, 7), "f32[3, ");
  EXPECT_EQ(inferred({"tile", {"f32[N, 2]", i64s({2, 3})}}), "f32[2*N, 6]");
  EXPECT_EQ(known({"tile", {i64s({1, 2}), i64s({2})}}), "[1, 2, 1, 2]");
}

TEST(Concat, joins_and_adds_sizes) {
  EXPECT_EQ(show(run({"concat", {f32s({1, 2}, {2, 1}), f32s({3, 4, 5, 6}, {2, 2})}, axis(-1)})),
            "f32[2, 3](1, 3, 4, 2, 5, 6)");
  EXPECT_EQ(inferred({"concat", {"f32[N, 3]", "f32[M, 3]", "f32[2, K]"}, axis(0)}), "f32[M + N + 2, 3]");
  EXPECT_NE(inferred({"concat", {"f32[2, 3]", "f32[2, 4]"}, axis(0)}).find("size 4 along axis 1, expected 3"),
            std::string::npos);
  EXPECT_NE(inferred({"concat", {"f32[2]", "f32[2]"}, axis(1)}).find("axis 1 out of range for rank 1"),
            std::string::npos);
}

TEST(Split, divides_an_axis) {
  const std::vector<Tensor> parts = run_all({"split", {f32s({1, 2, 3, 4, 5})}, {}, 3});
  EXPECT_EQ(show(parts[0]) + show(parts[2]), "f32[2](1, 2)f32[1](5)");
  EXPECT_EQ(inferred({"split", {"f32[4*N]"}, {}, 2}, 1), "f32[2*N]");
  EXPECT_EQ(inferred({"split", {"f32[N, 7]", i64s({3, 4})}, axis(1), 2}, 1), "f32[N, 4]");
  EXPECT_NE(inferred({"split", {"f32[7]", i64s({3, 3})}, {}, 2}).find("sum of the sizes is 6, expected 7"),
            std::string::npos);
}

TEST(Split, parts_after_one_of_unknown_size_are_not_known) {
  Graph graph(builtin_op_table());
  graph.symbols["N"];
  Value* x = graph.add_input("x", Type::parse("f32[N]"));
  const auto emit = [&](std::string_view op, std::vector<Value*> inputs, AttributeMap map = {}) {
    return graph.emit(op, inputs, std::move(map), Type{});
  };
  Value *all = graph.constant(i64s({10, 20, 30, 40})), *two = graph.constant(i64s({2})),
        *some = emit("shape", {x}), *rest = emit("sub", {two, some});
  const auto parts_of = [&](std::vector<Value*> sizes) {
    const std::vector<Value*> inputs{all, emit("concat", std::move(sizes), axis(0))};
    Node* node = graph.body().create(graph.ops().get("split"), inputs);
    for (int i = 0; i < 3; ++i)
      graph.add_output(graph.unique_name("y"), node->add_output(graph.unique_name("y"), Type{}));
    return node;
  };
  const Node *last = parts_of({two, some, rest}), *middle = parts_of({some, two, rest});
  infer_types(graph);
  EXPECT_EQ(middle->output(1)->type.to_string(), "i64[2]");
  const KnownValues values(graph);
  const auto known_part = [&](const Node* node, std::size_t i) {
    const Known& part = values.of(node->output(i));
    return part.elements ? to_string(*part.elements) : "unknown";
  };
  EXPECT_EQ(known_part(last, 0), "[10, 20]");
  EXPECT_EQ(known_part(last, 2), "unknown");
  EXPECT_EQ(known_part(middle, 1), "unknown");
}

TEST(Slice, clamps_as_numpy_does) {
  const Tensor x = i64s({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return show(run({"slice", {x, i64s({start}), i64s({end}), i64s({0}), i64s({step})}}));
  };
  EXPECT_EQ(slice(2, 5, 1), "i64[3](2, 3, 4)");
  EXPECT_EQ(slice(-3, INT64_MAX, 2), "i64[2](7, 9)");
  EXPECT_EQ(slice(-1, INT64_MIN, -4), "i64[3](9, 5, 1)");
  EXPECT_EQ(slice(20, -20, -3), "i64[4](9, 6, 3, 0)");
  EXPECT_EQ(slice(5, 2, 1), "i64[0]()");
  EXPECT_EQ(slice(0, 10, INT64_MAX), "i64[1](0)");
  EXPECT_EQ(slice(-1, INT64_MIN, INT64_MIN), "i64[1](9)");
  EXPECT_EQ(known({"slice", {x, i64s({8}), i64s({1}), std::nullopt, i64s({-3})}}), "[8, 5, 2]");
  EXPECT_EQ(show(run({"slice", {f32s({}, {0}), i64s({-1}), i64s({INT64_MIN}), i64s({0}), i64s({-1})}})),
            "f32[0]()");
  EXPECT_NE(inferred({"slice", {"f32[4]", i64s({0}), i64s({1}), i64s({0}), i64s({0})}}).find("step 0"),
            std::string::npos);
}

TEST(Slice, infers_symbolic_sizes) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return inferred({"slice", {"f32[2, N]", i64s({start}), i64s({end}), i64s({1}), i64s({step})}});
  };
  EXPECT_EQ(slice(0, INT64_MAX, 1), "f32[2, N]");
  EXPECT_EQ(slice(-1, INT64_MIN, -1), "f32[2, N]");
  EXPECT_EQ(slice(0, INT64_MAX, 2), "f32[2, (N + 1) // 2]");
  EXPECT_EQ(slice(0, INT64_MIN, -1), "f32[2, max(min(N - 1, 0) + 1, 0)]");
  EXPECT_EQ(slice(0, 5, 1), "f32[2, min(N, 5)]");
  EXPECT_EQ(inferred({"slice", {"f32[2, N]", "i64[1]", "i64[1]", i64s({1})}}), "f32[2, slice]");
}

TEST(Gather, picks_by_index) {
  EXPECT_EQ(show(run({"gather", {f32s({1, 2, 3, 4, 5, 6}, {3, 2}), i64s({-1, 0}, {1, 2})}})),
            "f32[1, 2, 2](5, 6, 1, 2)");
  EXPECT_EQ(show(run({"gather", {f32s({1, 2, 3, 4}, {2, 2}), i64s({1}, {})}, axis(1)})), "f32[2](2, 4)");
  EXPECT_EQ(show(run({"gather_elements", {f32s({1, 2, 3, 4}, {2, 2}), i64s({0, 0, 1, 0}, {2, 2})}, axis(1)})),
            "f32[2, 2](1, 1, 4, 3)");
  EXPECT_EQ(show(run({"gather_nd",
                      {f32s({0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2}), i64s({1, 0}, {2, 1})},
                      attributes({{"batch_dims", std::int64_t{1}}})})),
            "f32[2, 2](2, 3, 4, 5)");
  LANNER_EXPECT_ERROR(run({"gather", {f32s({1, 2}), i64s({2})}}), ErrorCode::invalid_argument,
                      "index 2 out of range for size 2");
  LANNER_EXPECT_ERROR(run({"gather_elements", {f32s({1, 2}, {1, 2}), i64s({0, 0}, {2, 1})}, axis(1)}),
                      ErrorCode::invalid_argument, "exceed data");
  EXPECT_EQ(inferred({"gather", {"f32[N, 4]", "i64[2, K]"}}), "f32[2, K, 4]");
}

TEST(Movement, long_axes_without_elements_are_not_walked) {
  const Tensor x = Tensor::allocate(DType::f32, {std::int64_t{1} << 40, 2, 0});
  const std::string same = "f32[1099511627776, 2, 0]()";
  EXPECT_EQ(show(run({"gather", {x, i64s({1, 0})}, axis(1)})), same);
  EXPECT_EQ(show(run({"compress", {x, bools({1, 1}, {2})}, axis(1)})), same);
  EXPECT_EQ(show(run({"unique", {x}, axis(1)})), "f32[1099511627776, 1, 0]()");
  EXPECT_EQ(show(run({"reverse_sequence", {x, i64s({3, 4})}})), same);
  LANNER_EXPECT_ERROR(run({"gather", {x, i64s({2})}, axis(1)}), ErrorCode::invalid_argument,
                      "index 2 out of range for size 2");
}

/// Reference with one loop over the updates, which are 1, 2 and so on.
std::vector<float> scattered(const Shape& data, const Shape& updates, std::size_t axis,
                             const std::vector<std::int64_t>& indices) {
  std::vector<float> out(static_cast<std::size_t>(data.elements()), 0);
  for (std::int64_t i = 0; i < updates.elements(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = data.rank(); d-- > 0;) {
      at += stride * (d == axis ? indices[static_cast<std::size_t>(i)] : rest % updates[d]);
      rest /= updates[d];
      stride *= data[d];
    }
    out[static_cast<std::size_t>(at)] = static_cast<float>(i + 1);
  }
  return out;
}

/// Updates as large as the data after the axis and smaller, indices of rows and of single elements.
TEST(Scatter, lines_and_single_elements_agree) {
  const Shape data{4, 3, 2, 5};
  for (const Shape& updates : {Shape{4, 3, 2, 5}, Shape{3, 3, 2, 5}, Shape{2, 2, 2, 5}, Shape{2, 3, 1, 5},
                               Shape{2, 3, 2, 4}, Shape{1, 1, 1, 1}, Shape{0, 3, 2, 5}})
    for (std::size_t axis = 0; axis < 4; ++axis)
      for (const std::int64_t whole : {1, 5, 10, 30}) {
        std::vector<std::int64_t> indices;
        std::vector<float> numbers;
        for (std::int64_t i = 0; i < updates.elements(); ++i) {
          indices.push_back(i / whole * 7 % data[axis]);
          numbers.push_back(static_cast<float>(i + 1));
        }
        const Tensor out =
            run({"scatter_elements",
                 {Tensor::zeros(DType::f32, data), i64s(indices, updates), f32s(numbers, updates)},
                 attributes({{"axis", static_cast<std::int64_t>(axis)}})});
        const auto got = out.as<float>();
        EXPECT_EQ(std::vector<float>(got.begin(), got.end()), scattered(data, updates, axis, indices))
            << updates.to_string() << ", axis " << axis << ", " << whole;
      }
}

TEST(Scatter, puts_and_reduces) {
  const auto reduction = [](std::string name) { return attributes({{"reduction", std::move(name)}}); };
  EXPECT_EQ(show(run({"scatter_elements", {f32s({0, 0, 0}), i64s({1, -1}), f32s({5, 6})}})),
            "f32[3](0, 5, 6)");
  EXPECT_EQ(show(run({"scatter_elements", {f32s({1, 1, 1}), i64s({1, 1}), f32s({5, 6})}, reduction("add")})),
            "f32[3](1, 12, 1)");
  EXPECT_EQ(show(run({"scatter_nd",
                      {f32s({1, 2, 3, 4}, {2, 2}), i64s({1}, {1, 1}), f32s({9, 1}, {1, 2})},
                      reduction("max")})),
            "f32[2, 2](1, 2, 9, 4)");
  LANNER_EXPECT_ERROR(run({"scatter_nd", {f32s({1, 2}), i64s({0}, {1, 1}), f32s({1, 2}, {2})}}),
                      ErrorCode::invalid_argument, "updates of shape [2], expected [1]");
  LANNER_EXPECT_ERROR(run({"scatter_nd", {f32s({1, 2}), i64s({5}, {1, 1}), f32s({1}, {1})}}),
                      ErrorCode::invalid_argument, "index 5 out of range");
  EXPECT_EQ(show(run({"tensor_scatter",
                      {f32s({0, 0, 0, 0, 0, 0}, {2, 3, 1}), f32s({1, 2, 3, 4}, {2, 2, 1}), i64s({0, 2})},
                      attributes({{"mode", std::string("circular")}})})),
            "f32[2, 3, 1](1, 2, 0, 4, 0, 3)");
}

TEST(Pad, has_four_modes) {
  const auto pad = [](const char* mode, std::int64_t before, std::int64_t after) {
    return show(
        run({"pad", {i64s({1, 2, 3}), i64s({before, after})}, attributes({{"mode", std::string(mode)}})}));
  };
  EXPECT_EQ(pad("constant", 1, 2), "i64[6](0, 1, 2, 3, 0, 0)");
  EXPECT_EQ(pad("constant", -1, 1), "i64[3](2, 3, 0)");
  EXPECT_EQ(pad("edge", 2, 1), "i64[6](1, 1, 1, 2, 3, 3)");
  EXPECT_EQ(pad("reflect", 2, 3), "i64[8](3, 2, 1, 2, 3, 2, 1, 2)");
  EXPECT_EQ(pad("wrap", 2, 4), "i64[9](2, 3, 1, 2, 3, 1, 2, 3, 1)");
  EXPECT_EQ(pad("wrap", -1, 3), "i64[5](2, 3, 2, 3, 2)");
  EXPECT_EQ(pad("reflect", 3, -1), "i64[5](2, 1, 2, 1, 2)");
  EXPECT_EQ(pad("edge", -2, 2), "i64[3](3, 3, 3)");
  EXPECT_EQ(show(run({"pad", {f32s({1, 2, 3, 4}, {2, 2}), i64s({1, 0}), f32s({9}, {}), i64s({-2})}})),
            "f32[3, 2](9, 9, 1, 2, 3, 4)");
  EXPECT_EQ(inferred({"pad", {"f32[N, 3]", i64s({0, 1, 2, 1})}}), "f32[N + 2, 5]");
  LANNER_EXPECT_ERROR(
      run({"pad", {f32s({}, {0}), i64s({1, 1})}, attributes({{"mode", std::string("edge")}})}),
      ErrorCode::invalid_argument, "no elements left to repeat");
}

TEST(Range, has_a_length_before_running_where_it_can) {
  EXPECT_EQ(show(run({"range", {i64s({10}, {}), i64s({4}, {}), i64s({-2}, {})}})), "i64[3](10, 8, 6)");
  EXPECT_EQ(show(run({"range", {f32s({1}, {}), f32s({2}, {}), f32s({0.25f}, {})}})),
            "f32[4](1, 1.25, 1.5, 1.75)");
  EXPECT_EQ(inferred({"range", {"i64[]", "i64[]", "i64[]"}}), "i64[range]");
  EXPECT_NE(inferred({"range", {i64s({INT64_MIN}, {}), i64s({INT64_MAX}, {}), i64s({1}, {})}})
                .find("has 18446744073709551615 elements"),
            std::string::npos);
  EXPECT_EQ(show(run({"range", {i64s({INT64_MIN}, {}), i64s({INT64_MAX}, {}), i64s({INT64_MAX}, {})}})),
            "i64[3](-9223372036854775808, -1, 9223372036854775806)");
  EXPECT_EQ(show(run({"range", {f32s({1e30f}, {}), f32s({-1e30f}, {}), f32s({1}, {})}})), "f32[0]()");
  EXPECT_NE(inferred({"range", {i64s({0}, {}), i64s({4}, {}), i64s({0}, {})}}).find("delta is 0"),
            std::string::npos);
}

TEST(Fill, makes_tensors_of_a_shape) {
  EXPECT_EQ(show(run({"constant_of_shape", {i64s({2, 2})}, attributes({{"value", i64s({7})}})})),
            "i64[2, 2](7, 7, 7, 7)");
  EXPECT_EQ(show(run({"constant_of_shape", {i64s({})}})), "f32[](0)");
  EXPECT_EQ(show(run({"eye_like",
                      {i64s({0, 0, 0, 0, 0, 0}, {2, 3})},
                      attributes({{"k", std::int64_t{1}}, {"dtype", DType::f32}})})),
            "f32[2, 3](0, 1, 0, 0, 0, 1)");
  EXPECT_EQ(show(run({"one_hot", {i64s({1, -1, 5}), i64s({3}, {}), f32s({0, 2})}, axis(0)})),
            "f32[3, 3](0, 0, 0, 2, 0, 0, 0, 2, 0)");
  EXPECT_EQ(show(run({"trilu", {f32s({1, 2, 3, 4}, {2, 2}), i64s({INT64_MAX}, {})}})),
            "f32[2, 2](0, 0, 0, 0)");
  EXPECT_EQ(show(run({"trilu", {f32s({1, 2, 3, 4}, {2, 2})}, attributes({{"upper", std::int64_t{0}}})})),
            "f32[2, 2](1, 0, 3, 4)");
}

TEST(Select, sizes_follow_the_elements) {
  EXPECT_EQ(show(run({"non_zero", {f32s({0, 1, 2, 0}, {2, 2})}})), "i64[2, 2](0, 1, 1, 0)");
  EXPECT_EQ(inferred({"non_zero", {"f32[N, 2]"}}), "i64[2, non_zero]");
  EXPECT_EQ(show(run({"compress", {f32s({1, 2, 3, 4, 5, 6}, {3, 2}), bools({0, 1}, {2})}, axis(0)})),
            "f32[1, 2](3, 4)");
  EXPECT_EQ(show(run({"compress", {f32s({1, 2, 3, 4}, {2, 2}), bools({0, 1, 0, 1, 1}, {5})}})),
            "f32[2](2, 4)");
}

TEST(Unique, sorts_or_keeps_the_order) {
  const Tensor x = i64s({2, 1, 1, 3, 4, 3});
  const std::vector<Tensor> sorted = run_all({"unique", {x}, {}, 4});
  EXPECT_EQ(show(sorted[0]) + show(sorted[1]), "i64[4](1, 2, 3, 4)i64[4](1, 0, 3, 4)");
  const std::vector<Tensor> kept = run_all({"unique", {x}, attributes({{"sorted", std::int64_t{0}}}), 4});
  EXPECT_EQ(show(kept[0]), "i64[4](2, 1, 3, 4)");
  EXPECT_EQ(show(kept[2]) + show(kept[3]), "i64[6](0, 1, 1, 2, 3, 2)i64[4](1, 2, 2, 1)");
  const std::vector<Tensor> rows = run_all({"unique", {f32s({1, 0, 1, 0, 2, 3}, {3, 2})}, axis(0), 4});
  EXPECT_EQ(show(rows[0]) + show(rows[2]), "f32[2, 2](1, 0, 2, 3)i64[3](0, 0, 1)");
}

TEST(ReverseSequence, reverses_the_first_of_each) {
  EXPECT_EQ(show(run({"reverse_sequence",
                      {i64s({0, 1, 2, 3, 4, 5}, {2, 3}), i64s({2, 3})},
                      attributes({{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}})})),
            "i64[2, 3](1, 0, 2, 5, 4, 3)");
  LANNER_EXPECT_ERROR(run({"reverse_sequence", {f32s({1, 2}, {2, 1}), i64s({3})}}),
                      ErrorCode::invalid_argument, "length 3 of sequence 0");
}
