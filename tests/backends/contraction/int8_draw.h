#pragma once
// Layers of bytes at random.

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/contraction/int8_layers.h"

namespace lanner::test {

/// Draws layers of random sizes, types and steps.
class LayerDraw {
public:
  explicit LayerDraw(unsigned seed) : random_(seed) { layer_.seed = seed; }

  Int8Layer draw() {
    const int batch = one_of({1, 1, 2, 3, 5});
    drawn(0, 2) > 0 ? draw_conv(batch) : draw_product(batch);
    draw_types();
    draw_steps();
    return layer_;
  }

private:
  int drawn(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  int one_of(std::initializer_list<int> list) {
    return list.begin()[drawn(0, static_cast<int>(list.size()) - 1)];
  }

  void draw_conv(int batch) {
    const bool flat = drawn(0, 5) == 0;
    const int depthwise = drawn(0, 3) == 0 ? one_of({2, 3, 7, 16, 17, 32, 40, 65}) : 0;
    const int groups = depthwise > 0 ? depthwise : one_of({1, 1, 1, 1, 2, 3});
    const int in = depthwise > 0 ? 1 : one_of({1, 2, 3, 4, 7, 8, 16, 17, 24, 64}),
              out = depthwise > 0 ? 1 : one_of({1, 3, 7, 8, 16, 17, 32, 33, 70});
    layer_.input = {batch, in * groups};
    layer_.filter = {out * groups, in};
    layer_.output = {batch, out * groups};
    std::vector<int> strides, dilations, begin, end;
    for (int axis = 0; axis < (flat ? 1 : 2); ++axis) {
      const int kernel = one_of({1, 1, 2, 3, 3, 5}), stride = one_of({1, 1, 2, 3}),
                dilation = one_of({1, 1, 1, 2, 3});
      const int before = drawn(0, kernel * dilation), after = drawn(0, kernel * dilation);
      const int extent = (kernel - 1) * dilation + 1;
      const int size = std::max(one_of({1, 2, 5, 8, 13, 19}), extent - before - after);
      layer_.input.push_back(size);
      layer_.filter.push_back(kernel);
      layer_.output.push_back((size + before + after - extent) / stride + 1);
      strides.push_back(stride);
      dilations.push_back(dilation);
      begin.push_back(before);
      end.push_back(after);
    }
    begin.insert(begin.end(), end.begin(), end.end());
    layer_.attributes =
        fmt::format("group = {}, strides = [{}], dilations = [{}], pads = [{}]", groups,
                    fmt::join(strides, ", "), fmt::join(dilations, ", "), fmt::join(begin, ", "));
  }

  void draw_product(int batch) {
    layer_.filter = {one_of({1, 2, 5, 32, 63, 64, 130}), one_of({1, 3, 16, 17, 40, 96})};
    layer_.input = {batch, drawn(1, 9), layer_.filter[0]};
    layer_.output = {batch, layer_.input[1], layer_.filter[1]};
  }

  void draw_types() {
    layer_.x_type = drawn(0, 1) == 1 ? "u8" : "i8";
    layer_.w_type = drawn(0, 3) == 0 ? "u8" : "i8";
    layer_.x_has_zero = drawn(0, 3) > 0;
    layer_.x_zero = layer_.x_type == "u8" ? one_of({0, 1, 128, 255}) : one_of({-128, -3, 0, 127});
    layer_.w_zeros = drawn(0, 2) == 0 ? drawn(1, 2) : 0;
    layer_.per_column = drawn(0, 2) > 0;
    layer_.bias = drawn(0, 2) > 0;
    const std::vector<const char*> results{"i8", "i8", "u8", "f32"};
    layer_.result = results[static_cast<std::size_t>(drawn(0, 3))];
    layer_.result_zero = layer_.result == "u8" ? one_of({0, 128, 255}) : one_of({-128, 0, 5});
  }

  void draw_steps() {
    const std::vector<const char*> steps{"add_f32",     "mul_f32",    "sub_f32",    "add_channel",
                                         "mul_channel", "add_scalar", "clip",       "silu",
                                         "relu",        "leaky_relu", "hard_swish", "sigmoid"};
    if (drawn(0, 2) == 0) layer_.steps.emplace_back("add_bytes");
    for (int i = one_of({0, 0, 1, 2, 4}); i > 0; --i)
      layer_.steps.emplace_back(steps[random_() % steps.size()]);
    if (drawn(0, 1) == 1) layer_.steps.emplace_back("relu");
  }

  std::mt19937 random_;
  Int8Layer layer_;
};

} // namespace lanner::test
