#include "base/check.h"
#include "ops/definition/bounds.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// depth_to_space and space_to_depth, its inverse: the same walk, copied in either direction.

struct SpaceBlocks {
  std::int64_t size = 1;
  bool depth_last = true; ///< Mode DCR: the position in the block is the outer part of the depth axis.

  static SpaceBlocks read(const AttributeMap& attributes) {
    SpaceBlocks blocks{attributes.get<std::int64_t>("blocksize"), true};
    const std::string mode = attributes.string("mode", "DCR");
    check(mode == "DCR" || mode == "CRD", ErrorCode::invalid_argument, "mode is \"{}\", expected DCR or CRD",
          mode);
    require_within("blocksize", blocks.size, 1, 65536);
    blocks.depth_last = mode == "DCR";
    return blocks;
  }
};

static void infer_space(InferContext& context, bool to_space) {
  const Type& x = context.input(0);
  const Dim block = SpaceBlocks::read(context.attributes()).size;
  require_rank(context, 0, 4);
  if (!x.ranked()) return infer_like(context);
  const Dims& in = x.dims();
  if (to_space) {
    require_equal(mod(in[1], block * block), 0, "the remainder of the depth over the block's elements");
    return context.set_output(
        0, x.with_dims({in[0], floor_div(in[1], block * block), in[2] * block, in[3] * block}));
  }
  for (std::size_t d : {2, 3})
    require_equal(mod(in[d], block), 0, "the remainder of a spatial size over the block's");
  context.set_output(
      0, x.with_dims({in[0], in[1] * block * block, floor_div(in[2], block), floor_div(in[3], block)}));
}

// Both tensors viewed as [batch, depth, block row, block column, row, column].
static void run_space(KernelContext& context, bool to_space) {
  const auto [block, depth_last] = SpaceBlocks::read(context.attributes());
  const Tensor& x = context.input(0);
  Tensor& y = context.output(0);
  const Shape& deep = to_space ? x.shape() : y.shape();
  const std::int64_t depth = deep[1] / (block * block), plane = deep[2] * deep[3], columns = deep[3];
  const Shape shape{deep[0], depth, block, block, deep[2], columns};
  const std::int64_t outer = depth_last ? depth * plane : plane,
                     inner = depth_last ? plane : block * block * plane;
  const Walk deep_walk{0, {deep[1] * plane, inner, outer * block, outer, columns, 1}};
  const std::int64_t width = columns * block;
  const Walk space_walk{0, {deep[1] * plane, plane * block * block, width, 1, width * block, block}};
  copy_strided(shape, x, to_space ? deep_walk : space_walk, y, to_space ? space_walk : deep_walk);
}

static OpDef space_op(std::string name, bool to_space) {
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {{"x", dtypes::any, 0, "N C H W"}},
               .attributes = {required_attribute("blocksize", AttributeKind::integer, between(1, 65536)),
                              string_attribute("mode", "DCR", one_of({"DCR", "CRD"}))},
               .infer = [=](InferContext& context) { infer_space(context, to_space); },
               .reference = [=](KernelContext& context) { run_space(context, to_space); },
               .expand = {},
               .traits = {.pattern = Pattern::movement,
                          .per_image = true,
                          .range = preserved_range(),
                          .split = splits_images}};
}

std::vector<OpDef> depth_to_space_ops() {
  return {space_op("depth_to_space", true), space_op("space_to_depth", false)};
}

} // namespace lanner::ops
