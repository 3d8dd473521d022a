#pragma once
// Networks with data-dependent output sizes, for a GPU and for a fake one.

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "run/lowered_text.h"

namespace lanner::test {

/// Bools, reals and integers, large enough to be searched on the GPU.
inline constexpr std::string_view places_text = R"(
graph @main(%flags: bool[2, 300, 500], %x: f32[300, 1000], %n: i64[40000]) -> (%below as "below", %set as "set", %whole as "whole") {
  %below: i64[*] = non_zero(%flags)
  %set: i64[*] = non_zero(%x)
  %whole: i64[*] = non_zero(%n)
})";

/// Every `step`th element is nonzero; -0 is zero, NaN is not.
inline std::vector<Item> elements(std::int64_t step) {
  Tensor flags = Tensor::zeros(DType::boolean, {2, 300, 500});
  Tensor x = Tensor::allocate(DType::f32, {300, 1000}), n = Tensor::zeros(DType::i64, {40000});
  std::ranges::fill(x.as<float>(), -0.0F);
  for (std::size_t i = static_cast<std::size_t>(step) - 1; i < 300000; i += static_cast<std::size_t>(step)) {
    flags.as<bool>()[i] = true;
    x.as<float>()[i] = i % 3 ? -1.0F : std::numeric_limits<float>::quiet_NaN();
    if (i < 40000) n.as<std::int64_t>()[i] = -static_cast<std::int64_t>(i) - 1;
  }
  return {flags, x, n};
}

/// Boxes and scores of three classes of two images, with non-maximum suppression of both box formats.
inline constexpr std::string_view kept_text = R"(
graph @main(%boxes: f32[2, 1500, 4], %scores: f32[2, 3, 1500], %most: i64[], %overlap: f32[], %score: f32[]) -> (%corners as "corners", %centres as "centres", %all as "all") {
  %corners: i64[*] = non_max_suppression(%boxes, %scores, %most, %overlap, %score)
  %centres: i64[*] = non_max_suppression(%boxes, %scores, %most, %overlap, %score) {center_point_box = 1}
  %all: i64[*] = non_max_suppression(%boxes, %scores, %most)
})";

/// Many scores are equal, so the order of boxes matters.
inline std::vector<Item> boxes(std::int64_t most, float overlap, float score) {
  Tensor boxes = Tensor::allocate(DType::f32, {2, 1500, 4}),
         scores = Tensor::allocate(DType::f32, {2, 3, 1500});
  for (std::int64_t i = 0; i < 3000; ++i) {
    float* box = boxes.as<float>().data() + i * 4;
    const auto place = static_cast<float>(i % 1500);
    box[0] = static_cast<float>(i * 37 % 101) * 0.37F, box[1] = place * 0.013F;
    box[2] = i % 5 ? box[0] + 3.3F : box[0] - 2.1F, box[3] = box[1] + 1.7F + static_cast<float>(i % 3);
  }
  for (std::int64_t i = 0; i < 9000; ++i)
    scores.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 61 - 10) / 64;
  return {boxes, scores, Tensor::scalar(most), Tensor::scalar(overlap), Tensor::scalar(score)};
}

/// Three runs with inputs on the device: results are there and equal the definitions' bit for bit.
inline void expect_found(const Engine& engine, const std::vector<Item>& inputs, Device device) {
  const auto want = run_reference(*state_of(engine).graph, inputs);
  Context context = engine.create_context();
  for (const auto& [name, item] : named(engine, inputs))
    context.bind(name, item.tensor.rank() > 0 ? Item(item.tensor.to(device)) : item);
  for (int run = 0; run < 3; ++run) {
    context.run();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string& name = engine.outputs()[i].name;
      const Tensor got = context.output(name).tensor.to({});
      ASSERT_EQ(got.shape().to_string(), want[i].tensor.shape().to_string()) << name << ", run " << run;
      EXPECT_EQ(std::memcmp(got.data(), want[i].tensor.data(), got.bytes()), 0) << name << ", run " << run;
    }
  }
}

/// `emulated`: kernels are computed thread by thread, so keeping thousands of boxes one after the other takes
/// seconds.
inline void expect_all_found(Device device, bool emulated = false) {
  const Engine places = engine_of(places_text, 1, device);
  for (const std::int64_t step : {1, 2, 3, 7, 1000, 299999}) {
    SCOPED_TRACE(step);
    expect_found(places, elements(step), device);
  }
  const Engine kept = engine_of(kept_text, 1, device);
  for (const std::int64_t most : {0, 1, 20, 3000})
    for (const float overlap : {0.0F, 0.3F, 0.9F})
      for (const float score : {-1.0F, 0.25F, 5.0F}) {
        if (emulated && most > 1000 && (overlap != 0.3F || score != 0.25F)) continue;
        SCOPED_TRACE(fmt::format("{} boxes, overlap {}, score {}", most, overlap, score));
        expect_found(kept, boxes(most, overlap, score), device);
      }
}

} // namespace lanner::test
