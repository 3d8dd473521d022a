#include <algorithm>

#include "base/check.h"
#include "ops/convolution/window.h"
#include "ops/definition/bounds.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_col2_im(InferContext& context) {
  const Type& x = context.input(0);
  require_rank(context, 0, 3);
  const auto image = known_elements(context, 1), block = known_elements(context, 2);
  if (!x.ranked() || !image || !block) return context.set_output(0, Type::unranked(x.dtype()));
  check(image->size() == block->size() && !image->empty(), ErrorCode::invalid_argument,
        "image_shape has {} values, block_shape {}", image->size(), block->size());
  for (const Dim& size : *block)
    if (const auto known = size.constant()) require_within("block_shape", *known, 1, largest_window_size);
  for (const Dim& size : *image)
    if (const auto known = size.constant()) require_within("image_shape", *known, 0, largest_window_size);
  const Dim taps = product(*block);
  require_equal(mod(x.dims()[1], taps), 0, "the remainder of the second size over the block's elements");
  const auto window = WindowAttributes::read(context.attributes(), image->size());
  require_equal(product(window_positions(window, *image, *block)), x.dims()[2],
                "the number of blocks in the image");
  Dims dims{x.dims()[0], floor_div(x.dims()[1], taps)};
  dims.insert(dims.end(), image->begin(), image->end());
  context.set_output(0, x.with_dims(std::move(dims)));
}

static Window fold_window(const KernelContext& context) {
  const std::vector<std::int64_t> image = read_integers(context.input(1), "image_shape");
  const std::vector<std::int64_t> block = read_integers(context.input(2), "block_shape");
  const auto attributes = WindowAttributes::read(context.attributes(), image.size());
  std::vector<std::int64_t> positions;
  for (const Dim& count :
       window_positions(attributes, Dims(image.begin(), image.end()), Dims(block.begin(), block.end())))
    positions.push_back(count.value());
  return resolve_window(attributes, image, positions, block);
}

static void run_col2_im(KernelContext& context) {
  const Window window = fold_window(context);
  const DType given = context.input(0).dtype(), type = is_float(given) ? compute_dtype(given) : given;
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const std::int64_t image = window.image_elements(), plane = window.position_count(), taps = window.taps();
  const std::int64_t stride = window.strides.back(),
                     planes = image == 0 ? 0 : context.output(0).elements() / image;
  visit_dtype(type, decltype(join(Types<float, double>{}, IntegerTypes{})){}, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), planes, [&](std::int64_t p) {
      T* out = y.as<T>().data() + p * image;
      std::fill_n(out, image, T{});
      for_each_tap(window, [&](std::int64_t t, std::span<const std::int64_t> tap) {
        const T* in = x.as<T>().data() + (p * taps + t) * plane;
        for_each_run(window, tap, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) {
            T& sum = out[to + i * stride];
            sum = Add{}(sum, in[from + i]);
          }
        });
      });
    });
  });
  y.store();
}

std::vector<OpDef> col2_im_ops() {
  return {OpDef{
      .name = "col2_im",
      .min_inputs = 3,
      .max_inputs = 3,
      .operands = {{"x", dtypes::numbers, 0, "N _ L"},
                   list_of_counts("image_shape"),
                   list_of_counts("block_shape")},
      .attributes = {optional_attribute("dilations", AttributeKind::integers, window_range(1)),
                     optional_attribute("pads", AttributeKind::integers, window_range(0)),
                     optional_attribute("strides", AttributeKind::integers, window_range(1))},
      .infer = infer_col2_im,
      .reference = run_col2_im,
      .expand = {},
      .traits = {
          .pattern = Pattern::movement, .accumulates = true, .per_image = true, .split = splits_first}}};
}

} // namespace lanner::ops
