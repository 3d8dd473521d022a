#include "engine/context/pictures.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>

#include "base/check.h"
#include "engine/context/input_names.h"
#include "graph/infer.h"
#include "image/picture_record.h"
#include "ops/picture/picture.h"

namespace lanner {
namespace {

Value& input_called(const Graph& graph, const std::string& name) {
  return *graph.body().parameter(
      with_context([] { return "pictures"; }, [&] { return input_number(graph, name); }));
}

/// Sets a side of the target: the declared one, else the input's.
void settle(std::int32_t& side, const Dim* dim, const std::string& input, std::string_view which) {
  const auto size = dim ? dim->constant() : std::nullopt;
  if (side == 0 && size && *size > 0 && *size <= 65536) side = static_cast<std::int32_t>(*size);
  check(side > 0, ErrorCode::invalid_argument,
        "pictures for {}: neither the preprocessing nor the model has the {}; give it", input, which);
}

/// The preprocessing with size and type of the input filled in.
Preprocess settled(const Value& input, Preprocess spec) {
  const Type& type = input.type;
  const bool takes = type.is_tensor() && type.ranked() && type.rank() >= 2 && type.rank() <= 4;
  check(takes, ErrorCode::invalid_argument,
        "pictures for {}: it is {}, expected four dimensions, three without a batch, or two with a row of "
        "pixels",
        input.name(), type.to_string());
  const DType dtype = type.dtype();
  check(dtype == DType::u8 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32,
        ErrorCode::unsupported, "pictures for {}: it is {}, expected u8, f16, bf16 or f32", input.name(),
        type.to_string());
  spec.dtype = dtype;
  const Dims& dims = type.dims();
  const std::size_t rows = (spec.channels_last ? 1 : 2) - (type.rank() == 3 ? 1 : 0);
  settle(spec.height, type.rank() == 2 ? nullptr : &dims[rows], input.name(), "height");
  settle(spec.width, type.rank() == 2 ? nullptr : &dims[rows + 1], input.name(), "width");
  return spec;
}

Dims made_dims(const Dim& batch, const Preprocess& spec) {
  const std::int64_t channels = spec.gray ? 1 : 3;
  if (spec.channels_last) return {batch, spec.height, spec.width, channels};
  return {batch, channels, spec.height, spec.width};
}

/// The batch dim of the input: 1 where it has none.
Dim batch_of(const Dims& dims) {
  return dims.size() == 3 ? Dim(1) : dims[0];
}

/// Fixes symbols to the size of the preprocessed picture.
void fix_dims(const Value& input, const Preprocess& spec, Bindings& fixed) {
  const Dims& dims = input.type.dims();
  Dims made = made_dims(batch_of(dims), spec);
  if (dims.size() == 3) made.erase(made.begin());
  if (dims.size() == 2) made = {dims[0], Dim(made[1].value() * made[2].value() * made[3].value())};
  for (std::size_t d = dims.size() == 3 ? 0 : 1; d < dims.size(); ++d) {
    const std::int64_t size = made[d].value();
    const bool same = dims[d].constant().value_or(size) == size;
    const auto symbol = dims[d].as_symbol();
    const auto known = symbol ? fixed.emplace(*symbol, size).first->second : size;
    check(same && known == size, ErrorCode::invalid_argument,
          "pictures for {}: they become [N, {}], the model expects {}", input.name(),
          fmt::join(Shape(spec.channels_last ? Shape{spec.height, spec.width, spec.gray ? 1 : 3}
                                             : Shape{spec.gray ? 1 : 3, spec.height, spec.width}),
                    ", "),
          input.type.to_string());
  }
}

Tensor integers(std::initializer_list<std::int64_t> values) {
  return Tensor::from<std::int64_t>(std::span(values.begin(), values.size()),
                                    {static_cast<std::int64_t>(values.size())});
}

void insert(Graph& graph, Value& input, const ImageInputOptions& options, const Preprocess& spec) {
  const Type type = input.type;
  const std::vector<Use> uses(input.uses().begin(), input.uses().end());
  const auto& nodes = graph.body().nodes();
  Node* first = nodes.empty() ? nullptr : nodes.front().get();
  AttributeMap attributes;
  attributes.set("preprocess", spec.to_json());
  if (options.format) attributes.set("format", std::string(to_string(*options.format)));
  const Dim batch = batch_of(type.dims());
  input.type = Type(DType::u8, Dims{batch, Dim(picture_record_bytes)});
  Value* made = graph.emit(ops::picture_kind, std::vector<Value*>{&input}, std::move(attributes),
                           Type(type.dtype(), made_dims(batch, spec)), input.name() + ".image", first);
  if (type.rank() != 4) {
    const Dims& dims = made->type.dims();
    Value* shape = graph.constant(
        type.rank() == 2 ? integers({0, -1}) : integers({dims[1].value(), dims[2].value(), dims[3].value()}),
        input.name(), first);
    const std::string name = input.name() + (type.rank() == 2 ? ".row" : ".single");
    made = graph.emit("reshape", std::vector<Value*>{made, shape}, {}, type, name, first);
  }
  for (const Use& use : uses) {
    if (use.node)
      use.node->set_input(use.index, made);
    else
      use.region->set_output(use.index, made);
  }
}

} // namespace

std::unique_ptr<Graph> with_pictures(std::unique_ptr<Graph> graph,
                                     const std::map<std::string, ImageInputOptions>& pictures) {
  if (pictures.empty()) return graph;
  Bindings fixed;
  std::map<std::string, Preprocess> specs;
  for (const auto& [name, options] : pictures) {
    const Value& input = input_called(*graph, name);
    specs[name] = settled(input, options.preprocess);
    fix_dims(input, specs[name], fixed);
  }
  if (!fixed.empty()) {
    graph = graph->clone(fixed);
    infer_types(*graph);
  }
  for (const auto& [name, options] : pictures)
    with_context([&, &name = name] { return "pictures for " + name; },
                 [&, &name = name, &options = options] {
                   insert(*graph, input_called(*graph, name), options, specs[name]);
                 });
  infer_types(*graph);
  return graph;
}

std::vector<std::optional<ImageInputOptions>> pictures_of(const Graph& graph) {
  std::vector<std::optional<ImageInputOptions>> pictures;
  for (const auto& input : graph.body().parameters()) {
    std::optional<ImageInputOptions>& taken = pictures.emplace_back();
    const Node* reader = ops::picture_reader(*input);
    if (!reader) continue;
    check(input->uses().size() == 1, ErrorCode::bad_data,
          "input {} is read as pictures and in another way; expected one reader", input->name());
    taken.emplace();
    taken->preprocess = ops::preprocess_of(*reader);
    if (const std::string format = ops::format_of(*reader); !format.empty())
      taken->format = parse_pixel_format(format);
  }
  return pictures;
}

Shape shape_of_records(const Value& input, const Shape& told) {
  if (!ops::picture_reader(input)) return told;
  if (told.rank() == 1) return {told[0], picture_record_bytes};
  check(told.rank() == 2 && told[1] == picture_record_bytes, ErrorCode::invalid_argument,
        "input {}: it takes {}; expected the number of pictures as its shape, like [4], got {}", input.name(),
        caller_type(input), told.to_string());
  return told;
}

Shape caller_shape(const Value& input, const Shape& shape) {
  return ops::picture_reader(input) && shape.rank() == 2 ? Shape{shape[0]} : shape;
}

std::string caller_type(const Value& input) {
  const Node* reader = ops::picture_reader(input);
  if (!reader || !input.type.ranked() || input.type.rank() == 0) return input.type.to_string();
  const std::string format = ops::format_of(*reader);
  return fmt::format("{} image[{}]", format.empty() ? "any" : format, input.type.dims()[0].to_string());
}

void check_no_picture(const Binding& input, std::string_view option) {
  check(input.image.empty(), ErrorCode::invalid_argument, "{}: input {} takes pictures; expected a tensor's",
        option, input.name);
}

} // namespace lanner
