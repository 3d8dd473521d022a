#include "builder/row_pitch.h"

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

Tensor number(std::int64_t value) {
  return Tensor::from<std::int64_t>(std::span<const std::int64_t>(&value, 1), {1});
}

/// Row pitch in elements.
std::int64_t pitch_of(const std::string& name, const Type& type, const BindingStorage& storage) {
  const auto size = type.is_tensor() && type.ranked() && type.rank() > 0 ? type.dims().back().constant()
                                                                         : std::optional<std::int64_t>();
  check(size.has_value(), ErrorCode::unsupported,
        "storage of {}: a row pitch needs rows of a size that the model fixes, it has {}", name,
        type.to_string());
  check(storage.layout == "row" || storage.layout.empty(), ErrorCode::unsupported,
        "storage of {}: a row pitch goes with layout row, got {}", name, storage.layout);
  const auto bits = static_cast<std::int64_t>(bit_width(storage.dtype.value_or(type.dtype())));
  check(
      bits >= 8 && storage.row_pitch % (bits / 8) == 0 && storage.row_pitch / (bits / 8) >= *size,
      ErrorCode::invalid_argument,
      "storage of {}: a row pitch of {} bytes, expected a multiple of the element's {} bits, for {} at least",
      name, storage.row_pitch, bits, *size);
  return storage.row_pitch / (bits / 8);
}

Type with_rows_of(const Type& type, std::int64_t elements) {
  Dims dims = type.dims();
  dims.back() = Dim(elements);
  return type.with_dims(std::move(dims));
}

void slice_input(Graph& graph, Value& input, std::int64_t pitch) {
  const Type type = input.type;
  const std::vector<Use> uses(input.uses().begin(), input.uses().end());
  const auto& nodes = graph.body().nodes();
  Node* first = nodes.empty() ? nullptr : nodes.front().get();
  const auto constant = [&](std::int64_t value) {
    return graph.constant(number(value), input.name(), first);
  };
  const auto last = static_cast<std::int64_t>(type.rank()) - 1;
  Value* rows = graph.emit(
      "slice", std::vector<Value*>{&input, constant(0), constant(type.dims().back().value()), constant(last)},
      {}, type, input.name() + ".rows", first);
  input.type = with_rows_of(type, pitch);
  for (const Use& use : uses) {
    if (use.node)
      use.node->set_input(use.index, rows);
    else
      use.region->set_output(use.index, rows);
  }
}

void pad_output(Graph& graph, std::size_t i, std::int64_t pitch) {
  Value* value = graph.body().outputs()[i];
  std::vector<std::int64_t> pads(2 * value->type.rank(), 0);
  pads.back() = pitch - value->type.dims().back().value();
  Value* sizes = graph.constant(Tensor::from<std::int64_t>(pads, {static_cast<std::int64_t>(pads.size())}),
                                value->name(), nullptr);
  graph.body().set_output(i, graph.emit("pad", std::vector<Value*>{value, sizes}, {},
                                        with_rows_of(value->type, pitch), value->name() + ".rows"));
}

} // namespace

void apply_row_pitches(Graph& graph, const std::map<std::string, BindingStorage>& storages) {
  for (const auto& [name, storage] : storages) {
    check(storage.row_pitch >= 0, ErrorCode::invalid_argument, "storage of {}: a row pitch of {}", name,
          storage.row_pitch);
    if (storage.row_pitch == 0) continue;
    for (std::size_t i = 0; i < graph.body().outputs().size(); ++i)
      if (graph.output_names()[i] == name)
        pad_output(graph, i, pitch_of(name, graph.body().outputs()[i]->type, storage));
    for (const auto& input : graph.body().parameters())
      if (input->name() == name) slice_input(graph, *input, pitch_of(name, input->type, storage));
  }
}

} // namespace lanner
