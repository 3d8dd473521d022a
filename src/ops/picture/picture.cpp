#include "ops/picture/picture.h"

#include "base/check.h"
#include "image/picture_record.h"
#include "image/preprocess_plan.h"
#include "ops/table/arguments.h"
#include "ops/table/families.h"
#include "ops/traits.h"
#include "tensor/half_types.h"

namespace lanner::ops {

Preprocess preprocess_of(const Node& picture) {
  return Preprocess::from_json(picture.attributes.get<std::string>("preprocess"));
}

std::string format_of(const Node& picture) {
  return picture.attributes.string("format", "");
}

const Node* picture_reader(const Value& input) {
  for (const Use& use : input.uses())
    if (use.node && use.node->kind() == picture_kind && use.index == 0) return use.node;
  return nullptr;
}

void read_picture(const std::byte* record, const Preprocess& spec, std::byte* element, int threads) {
  const PictureRecord read = read_record(record);
  const Preprocess own = preprocess_for(read, spec);
  const Image there = picture_of(read);
  if (there.device.is_host()) return preprocess_into(element, there, own, threads);
  Image here = Image::allocate(there.format, there.width, there.height);
  copy_image(there, here);
  preprocess_into(element, here, own, threads);
}

static void check_spec(const Preprocess& spec) {
  constexpr std::int32_t most = 65536;
  const bool stored = spec.dtype == DType::u8 || spec.dtype == DType::f16 || spec.dtype == DType::bf16 ||
                      spec.dtype == DType::f32;
  check(stored, ErrorCode::invalid_argument, "preprocess gives {}, expected u8, f16, bf16 or f32",
        to_string(spec.dtype));
  check(spec.width > 0 && spec.height > 0 && spec.width <= most && spec.height <= most,
        ErrorCode::invalid_argument, "preprocess gives {}x{}, expected 1 to {} each", spec.width, spec.height,
        most);
  check(
      spec.multiple == 1, ErrorCode::invalid_argument,
      "preprocess has multiple {}, whose sizes depend on the picture; a network that takes pictures has one "
      "size: leave it out",
      spec.multiple);
  for (const float value : spec.std)
    check(value != 0, ErrorCode::invalid_argument,
          "preprocess has a std of 0, expected a number other than 0");
}

/// Records contain addresses, so they must be graph inputs, never computed. A reorder moves them to where the
/// kernel runs.
static void check_source(const Value* value) {
  while (value && value->producer() && value->producer()->kind() == "reorder")
    value = value->producer()->input(0);
  check(value && !value->producer() && !value->region()->owner(), ErrorCode::invalid_argument,
        "it reads %{}, expected an input of the graph", value ? value->name() : "");
}

/// Kernels may be queried for halves stored wider (lower/propose/promotion.h): the result type is f32 then.
static DType type_of_result(const Node& node, const Preprocess& spec) {
  const Type& said = node.output()->type;
  const bool wider = is_half(spec.dtype) && said.ranked() && said.dtype() == DType::f32;
  return wider ? DType::f32 : spec.dtype;
}

static void infer_picture(InferContext& context) {
  check_source(context.node().input(0));
  const Type& records = context.input(0);
  const bool fits = records.is_tensor() && records.dtype() == DType::u8 && records.ranked() &&
                    records.rank() == 2 && records.dims()[1].constant() == picture_record_bytes;
  check(fits, ErrorCode::invalid_argument, "it reads {}, expected u8[N, {}]", records.to_string(),
        picture_record_bytes);
  const Preprocess spec = preprocess_of(context.node());
  check_spec(spec);
  if (const std::string format = format_of(context.node()); !format.empty()) parse_pixel_format(format);
  const std::int64_t channels = spec.gray ? 1 : 3;
  Dims dims{records.dims()[0], channels, spec.height, spec.width};
  if (spec.channels_last) dims = {records.dims()[0], spec.height, spec.width, channels};
  context.set_output(0, Type(type_of_result(context.node(), spec), std::move(dims)));
}

static void run_picture(KernelContext& context) {
  const Tensor& records = context.input(0);
  Tensor& output = context.output(0);
  Preprocess spec = preprocess_of(context.node());
  spec.dtype = output.dtype();
  const std::int64_t count = records.shape()[0];
  const auto* record = static_cast<const std::byte*>(records.data());
  auto* element = static_cast<std::byte*>(output.data());
  for (std::int64_t n = 0; n < count; ++n)
    read_picture(record + n * picture_record_bytes, spec,
                 element + static_cast<std::int64_t>(output.bytes()) / count * n, context.threads());
}

std::vector<OpDef> picture_ops() {
  return {OpDef{.name = std::string(picture_kind),
                .min_inputs = 1,
                .max_inputs = 1,
                .operands = {{"records", DType::u8, 0, "_ _"}},
                .attributes = {required_attribute("preprocess", AttributeKind::string, any_text()),
                               string_attribute("format", "", any_text())},
                .infer = infer_picture,
                .reference = run_picture,
                .expand = {},
                .traits = {.pattern = Pattern::sampling, .accumulates = true}}};
}

} // namespace lanner::ops
