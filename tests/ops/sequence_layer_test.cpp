#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "ops/detection/box_overlap.h"
#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static AttributeMap plain_sum(const char* direction) {
  return attributes(
      {{"activations", Attribute(std::vector<std::string>(direction[0] == 'b' ? 2 : 1, "Affine"))},
       {"direction", Attribute(std::string(direction))}});
}

static const Tensor steps = f32s({1, 2, 3}, {3, 1, 1}), weight = f32s({1}, {1, 1, 1});

TEST(Rnn, carries_the_state) {
  const std::vector<Tensor> found = run_all({"rnn", {steps, weight, weight}, plain_sum("forward"), 2});
  EXPECT_EQ(show(found[0]), "f32[3, 1, 1, 1](1, 3, 6)");
  EXPECT_EQ(show(found[1]), "f32[1, 1, 1](6)");
}

TEST(Rnn, both_directions_stop_at_the_sequence_length) {
  const Tensor both = f32s({1, 1}, {2, 1, 1}), length = tensor<std::int32_t>({2}, {1});
  const NodeSpec spec{"rnn", {steps, both, both, std::nullopt, length}, plain_sum("bidirectional"), 2};
  const std::vector<Tensor> found = run_all(spec);
  EXPECT_EQ(show(found[0]), "f32[3, 2, 1, 1](1, 3, 3, 2, 0, 0)");
  EXPECT_EQ(show(found[1]), "f32[2, 1, 1](3, 3)");
}

TEST(Lstm, infers_all_outputs) {
  const auto bidirectional = attributes({{"direction", Attribute(std::string("bidirectional"))}});
  const NodeSpec spec{"lstm", {"f32[T, N, 8]", "f32[2, 64, 8]", "f32[2, 64, 16]"}, bidirectional, 3};
  EXPECT_EQ(inferred(spec, 0), "f32[T, 2, N, 16]");
  EXPECT_EQ(inferred(spec, 2), "f32[2, N, 16]");
  EXPECT_NE(inferred({"lstm", {"f32[T, N, 8]", "f32[1, 64, 8]", "f32[1, 60, 16]"}})
                .find("has 60 in axis 1, expected 64"),
            std::string::npos);
}

TEST(Lstm, closed_gates_keep_the_cell) {
  // With gate biases of +-100 the sigmoids are 0 or 1: input and output open, forget closed, candidate
  // tanh(x).
  const Tensor x = f32s({0.5f}, {1, 1, 1}), w = f32s({0, 0, 0, 1}, {1, 4, 1}),
               r = f32s({0, 0, 0, 0}, {1, 4, 1});
  const Tensor bias = f32s({100, 100, -100, 0, 0, 0, 0, 0}, {1, 8});
  const Tensor cell = f32s({7}, {1, 1, 1});
  const std::vector<Tensor> found =
      run_all({"lstm", {x, w, r, bias, std::nullopt, std::nullopt, cell}, {}, 3});
  EXPECT_FLOAT_EQ(found[2].as<float>()[0], std::tanh(0.5f));
  EXPECT_FLOAT_EQ(found[1].as<float>()[0], std::tanh(std::tanh(0.5f)));
}

TEST(Gru, an_open_update_gate_keeps_the_state) {
  const Tensor w = f32s({0, 0, 1}, {1, 3, 1}), r = f32s({0, 0, 0}, {1, 3, 1}),
               bias = f32s({100, 0, 0, 0, 0, 0}, {1, 6});
  const Tensor state = f32s({0.25f}, {1, 1, 1});
  EXPECT_EQ(show(run({"gru", {steps, w, r, bias, std::nullopt, state}})),
            "f32[3, 1, 1, 1](0.25, 0.25, 0.25)");
}

TEST(Rnn, refuses_lengths_beyond_the_input) {
  const Tensor length = tensor<std::int32_t>({4}, {1});
  EXPECT_THROW(run({"rnn", {steps, weight, weight, std::nullopt, length}}), Error);
}

TEST(Attention, attends_to_allowed_keys_only) {
  const Tensor q = f32s({0, 0}, {1, 1, 2, 1}), v = f32s({2, 4}, {1, 1, 2, 1});
  EXPECT_EQ(show(run({"attention", {q, q, v}})), "f32[1, 1, 2, 1](3, 3)");
  EXPECT_EQ(show(run({"attention", {q, q, v}, attributes({{"is_causal", std::int64_t{1}}})})),
            "f32[1, 1, 2, 1](2, 3)");
  const Tensor mask = bools({0, 0, 0, 1}, {2, 2});
  EXPECT_EQ(show(run({"attention", {q, q, v, mask}})), "f32[1, 1, 2, 1](0, 4)");
}

TEST(Attention, scores_of_nan_are_not_masked) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor q = f32s({nan, 0}, {1, 1, 2, 1}), k = f32s({0, 0}, {1, 1, 2, 1}),
               v = f32s({2, 4}, {1, 1, 2, 1});
  EXPECT_EQ(show(run({"attention", {q, k, v}})), "f32[1, 1, 2, 1](nan, 3)");
  const Tensor mask = bools({0, 0, 1, 1}, {2, 2});
  EXPECT_EQ(show(run({"attention", {k, k, v, mask}})), "f32[1, 1, 2, 1](0, 3)");
}

TEST(Attention, infers_packed_heads_and_caches) {
  const auto heads = attributes({{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  const NodeSpec spec{"attention",
                      {"f32[N, S, 64]", "f32[N, S, 32]", "f32[N, S, 32]", std::nullopt, "f32[N, 2, P, 16]",
                       "f32[N, 2, P, 16]"},
                      heads,
                      4};
  EXPECT_EQ(inferred(spec, 0), "f32[N, S, 64]");
  EXPECT_EQ(inferred(spec, 1), "f32[N, 2, P + S, 16]");
  EXPECT_NE(
      inferred({"attention", {"f32[N, S, 64]", "f32[N, S, 32]", "f32[N, S, 32]"}}).find("q_num_heads is 0"),
      std::string::npos);
}

TEST(NonMaxSuppression, keeps_the_best_of_overlapping_boxes) {
  const Tensor boxes = f32s({0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6}, {1, 3, 4}),
               scores = f32s({0.5f, 0.9f, 0.1f}, {1, 1, 3});
  const NodeSpec spec{"non_max_suppression", {boxes, scores, i64s({5}, {}), f32s({0.5f}, {})}};
  EXPECT_EQ(show(run(spec)), "i64[2, 3](0, 0, 1, 0, 0, 2)");
  EXPECT_THROW(run({"non_max_suppression", {boxes, f32s({1, 1}, {1, 1, 2})}}), Error);
}

TEST(NonMaxSuppression, keeps_scores_above_the_threshold) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor boxes = f32s({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, {1, 3, 4});
  const auto kept = [&](std::vector<float> scores, std::optional<float> threshold) {
    NodeSpec spec{"non_max_suppression",
                  {boxes, f32s(std::move(scores), {1, 1, 3}), i64s({9}, {}), f32s({0.5f}, {})}};
    if (threshold) spec.inputs.push_back(f32s({*threshold}, {}));
    const Tensor found = run(spec);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 2; i < found.as<std::int64_t>().size(); i += 3)
      numbers.push_back(found.as<std::int64_t>()[i]);
    return numbers;
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(kept({0, 0.1f, -0.1f}, 0), Numbers({1}));
  EXPECT_EQ(kept({0.25f, 0.5f, 0.25000003f}, 0.25f), Numbers({1, 2}));
  EXPECT_EQ(kept({inf, 1, 2}, inf), Numbers());
  EXPECT_EQ(kept({-1, 1, -inf}, std::nullopt), Numbers({1, 0, 2}));
}

TEST(NonMaxSuppression, matches_pairwise_comparison) {
  constexpr std::int64_t images = 2, classes = 3, count = 83;
  std::vector<float> places, values;
  std::uint32_t state = 1;
  const auto next = [&] { return static_cast<float>((state = state * 1664525 + 1013904223) >> 25); };
  for (std::int64_t i = 0; i < images * count; ++i) {
    const float top = next(), left = next();
    places.insert(places.end(), {top, left, top + next() / 2, left + next() / 2});
  }
  for (std::int64_t i = 0; i < images * classes * count; ++i) values.push_back(next());
  std::vector<std::int64_t> expected;
  for (std::int64_t row = 0; row < images * classes; ++row) {
    const float *const boxes = places.data() + row / classes * count * 4, *const scores =
                                                                              values.data() + row * count;
    std::vector<std::int64_t> order(count), kept;
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return scores[a] > scores[b]; });
    for (const std::int64_t i : order)
      if (std::ranges::none_of(kept, [&](std::int64_t k) {
            return ops::overlap(ops::read_box(boxes + i * 4, false), ops::read_box(boxes + k * 4, false)) >
                   0.25F;
          }))
        kept.push_back(i);
    EXPECT_GT(kept.size(), 8U);
    EXPECT_LT(kept.size(), 80U);
    for (const std::int64_t k : kept) expected.insert(expected.end(), {row / classes, row % classes, k});
  }
  const Tensor found = run({"non_max_suppression",
                            {f32s(places, {images, count, 4}), f32s(values, {images, classes, count}),
                             i64s({count}), f32s({0.25F})}});
  EXPECT_TRUE(std::ranges::equal(found.as<std::int64_t>(), expected));
}

TEST(Dft, transforms_lengths_with_any_factors) {
  const Tensor impulse = f32s({0, 1, 0, 0, 0, 0}, {1, 6, 1});
  const Tensor spectrum = run({"dft", {impulse}});
  for (int k = 0; k < 6; ++k) {
    EXPECT_NEAR(spectrum.as<float>()[static_cast<std::size_t>(2 * k)], std::cos(M_PI * k / 3), 1e-6);
    EXPECT_NEAR(spectrum.as<float>()[static_cast<std::size_t>(2 * k + 1)], -std::sin(M_PI * k / 3), 1e-6);
  }
  EXPECT_EQ(inferred({"dft", {"f32[N, L, 1]"}, attributes({{"onesided", std::int64_t{1}}})}),
            "f32[N, L // 2 + 1, 2]");
}

TEST(Dropout, drops_only_in_training) {
  const Tensor x = f32s({1, 2, 3, 4}), half = f32s({0.5f}, {});
  EXPECT_EQ(show(run({"dropout", {x, half}})), "f32[4](1, 2, 3, 4)");
  const std::vector<Tensor> found =
      run_all({"dropout", {x, half, bools({1}, {})}, attributes({{"seed", std::int64_t{1}}}), 2});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(found[0].as<float>()[i], found[1].as<bool>()[i] ? 2 * x.as<float>()[i] : 0);
}
