#include "importers/caffe/layer_parameters.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace lanner::caffe {
namespace {

/// A field's name as a template argument, so that one function serves all fields of a kind.
template<std::size_t size>
struct Name {
  char text[size];
  consteval Name(const char (&from)[size]) { std::copy_n(from, size, text); }
};

Attributes& attributes_of(void* object) {
  return *static_cast<Attributes*>(object);
}

template<typename T>
void append(Attributes& attributes, const char* name, T value) {
  ImportAttribute::Value& held = attributes[name].value;
  if (!std::holds_alternative<std::vector<T>>(held)) held = std::vector<T>{};
  std::get<std::vector<T>>(held).push_back(std::move(value));
}

template<Name name>
constexpr FieldEntry integer(std::uint32_t number) {
  return {number, name.text, Wire::varint,
          [](void* to, FieldValue& v) { attributes_of(to)[name.text].value = v.integer(); }};
}
template<Name name>
constexpr FieldEntry integers(std::uint32_t number) {
  return {number, name.text, Wire::varint,
          [](void* to, FieldValue& v) { append(attributes_of(to), name.text, v.integer()); }};
}
template<Name name>
constexpr FieldEntry real(std::uint32_t number) {
  return {number, name.text, Wire::fixed32,
          [](void* to, FieldValue& v) { attributes_of(to)[name.text].value = v.real(); }};
}
template<Name name>
constexpr FieldEntry reals(std::uint32_t number) {
  return {number, name.text, Wire::fixed32,
          [](void* to, FieldValue& v) { append(attributes_of(to), name.text, v.real()); }};
}
template<Name name, const auto& names>
constexpr FieldEntry enumerated(std::uint32_t number) {
  return {number, name.text, Wire::varint,
          [](void* to, FieldValue& v) { attributes_of(to)[name.text].value = v.enumerator(names); }};
}
template<Name name, const auto& table>
constexpr FieldEntry message(std::uint32_t number) {
  return {number, name.text, Wire::message, [](void* to, FieldValue& v) {
            v.message(table, &static_cast<LayerRecord*>(to)->layer.attributes);
          }};
}

constexpr FieldEntry dims[] = {
    field<ShapeDims, [](ShapeDims& r, FieldValue& v) { r.push_back(v.integer()); }>(1, "dim", Wire::varint),
};

/// The first shape is named `shape`, further ones are numbered.
constexpr FieldEntry shapes(std::uint32_t number) {
  return {number, "shape", Wire::message, [](void* to, FieldValue& v) {
            Attributes& attributes = attributes_of(to);
            std::string name = "shape";
            for (int i = 1; attributes.contains(name); ++i) name = fmt::format("shape{}", i);
            ShapeDims read;
            v.message(dims, &read);
            attributes[name].value = std::move(read);
          }};
}

constexpr EnumName pool_methods[] = {{"MAX", 0}, {"AVE", 1}, {"STOCHASTIC", 2}};
constexpr EnumName round_modes[] = {{"CEIL", 0}, {"FLOOR", 1}};
constexpr EnumName norm_regions[] = {{"ACROSS_CHANNELS", 0}, {"WITHIN_CHANNEL", 1}};
constexpr EnumName eltwise_operations[] = {{"PROD", 0}, {"SUM", 1}, {"MAX", 2}};
constexpr EnumName reductions[] = {{"SUM", 1}, {"ASUM", 2}, {"SUMSQ", 3}, {"MEAN", 4}};

constexpr FieldEntry arg_max[] = {integer<"out_max_val">(1), integer<"top_k">(2), integer<"axis">(3),
                                  no_other_fields()};
constexpr FieldEntry batch_norm[] = {integer<"use_global_stats">(1), real<"eps">(3),
                                     ignored_field("moving_average_fraction"), no_other_fields()};
constexpr FieldEntry bias[] = {integer<"axis">(1), integer<"num_axes">(2), ignored_field("filler"),
                               no_other_fields()};
constexpr FieldEntry clip[] = {real<"min">(1), real<"max">(2), no_other_fields()};
constexpr FieldEntry concat[] = {integer<"concat_dim">(1), integer<"axis">(2), no_other_fields()};
constexpr FieldEntry convolution[] = {integer<"num_output">(1),
                                      integer<"bias_term">(2),
                                      integers<"pad">(3),
                                      integers<"kernel_size">(4),
                                      integer<"group">(5),
                                      integers<"stride">(6),
                                      integer<"pad_h">(9),
                                      integer<"pad_w">(10),
                                      integer<"kernel_h">(11),
                                      integer<"kernel_w">(12),
                                      integer<"stride_h">(13),
                                      integer<"stride_w">(14),
                                      integer<"axis">(16),
                                      integers<"dilation">(18),
                                      ignored_field("weight_filler"),
                                      ignored_field("bias_filler"),
                                      ignored_field("engine"),
                                      ignored_field("force_nd_im2col"),
                                      no_other_fields()};
constexpr FieldEntry crop[] = {integer<"axis">(1), integers<"offset">(2), no_other_fields()};
constexpr FieldEntry dummy_data[] = {integers<"num">(2), integers<"channels">(3), integers<"height">(4),
                                     integers<"width">(5), shapes(6)};
constexpr FieldEntry eltwise[] = {enumerated<"operation", eltwise_operations>(1), reals<"coeff">(2),
                                  ignored_field("stable_prod_grad"), no_other_fields()};
constexpr FieldEntry elu[] = {real<"alpha">(1), no_other_fields()};
constexpr FieldEntry exponential[] = {real<"base">(1), real<"scale">(2), real<"shift">(3), no_other_fields()};
constexpr FieldEntry flatten[] = {integer<"axis">(1), integer<"end_axis">(2), no_other_fields()};
constexpr FieldEntry inner_product[] = {
    integer<"num_output">(1),       integer<"bias_term">(2),      integer<"axis">(5), integer<"transpose">(6),
    ignored_field("weight_filler"), ignored_field("bias_filler"), no_other_fields()};
constexpr FieldEntry input[] = {shapes(1)};
constexpr FieldEntry lrn[] = {integer<"local_size">(1),
                              real<"alpha">(2),
                              real<"beta">(3),
                              enumerated<"norm_region", norm_regions>(4),
                              real<"k">(5),
                              ignored_field("engine"),
                              no_other_fields()};
constexpr FieldEntry memory_data[] = {integer<"batch_size">(1), integer<"channels">(2), integer<"height">(3),
                                      integer<"width">(4)};
constexpr FieldEntry mvn[] = {integer<"normalize_variance">(1), integer<"across_channels">(2), real<"eps">(3),
                              no_other_fields()};
constexpr FieldEntry permute[] = {integers<"order">(1), no_other_fields()};
constexpr FieldEntry pooling[] = {enumerated<"pool", pool_methods>(1),
                                  integer<"kernel_size">(2),
                                  integer<"stride">(3),
                                  integer<"pad">(4),
                                  integer<"kernel_h">(5),
                                  integer<"kernel_w">(6),
                                  integer<"stride_h">(7),
                                  integer<"stride_w">(8),
                                  integer<"pad_h">(9),
                                  integer<"pad_w">(10),
                                  integer<"global_pooling">(12),
                                  enumerated<"round_mode", round_modes>(13),
                                  ignored_field("engine"),
                                  no_other_fields()};
constexpr FieldEntry power[] = {real<"power">(1), real<"scale">(2), real<"shift">(3), no_other_fields()};
constexpr FieldEntry prelu[] = {integer<"channel_shared">(2), ignored_field("filler"), no_other_fields()};
constexpr FieldEntry reduction[] = {enumerated<"operation", reductions>(1), integer<"axis">(2),
                                    real<"coeff">(3), no_other_fields()};
constexpr FieldEntry relu[] = {real<"negative_slope">(1), ignored_field("engine"), no_other_fields()};
constexpr FieldEntry reshape[] = {shapes(1), integer<"axis">(2), integer<"num_axes">(3), no_other_fields()};
constexpr FieldEntry scale[] = {integer<"axis">(1),           integer<"num_axes">(2),
                                integer<"bias_term">(4),      ignored_field("filler"),
                                ignored_field("bias_filler"), no_other_fields()};
constexpr FieldEntry slice[] = {integer<"slice_dim">(1), integers<"slice_point">(2), integer<"axis">(3),
                                no_other_fields()};
constexpr FieldEntry softmax[] = {integer<"axis">(2), ignored_field("engine"), no_other_fields()};
constexpr FieldEntry threshold[] = {real<"threshold">(1), no_other_fields()};
constexpr FieldEntry tile[] = {integer<"axis">(1), integer<"tiles">(2), no_other_fields()};
constexpr FieldEntry transform[] = {integer<"crop_size">(3)};

// Fields about training and about where a layer is computed are skipped; a field that Caffe does not know is
// an error, as in Caffe.
constexpr FieldEntry parameters[] = {
    message<"transform_param", transform>(100),
    message<"argmax_param", arg_max>(103),
    message<"concat_param", concat>(104),
    message<"convolution_param", convolution>(106),
    message<"dummy_data_param", dummy_data>(109),
    message<"eltwise_param", eltwise>(110),
    message<"exp_param", exponential>(111),
    message<"inner_product_param", inner_product>(117),
    message<"lrn_param", lrn>(118),
    message<"memory_data_param", memory_data>(119),
    message<"mvn_param", mvn>(120),
    message<"pooling_param", pooling>(121),
    message<"power_param", power>(122),
    message<"relu_param", relu>(123),
    message<"softmax_param", softmax>(125),
    message<"slice_param", slice>(126),
    message<"threshold_param", threshold>(128),
    message<"prelu_param", prelu>(131),
    message<"reshape_param", reshape>(133),
    message<"log_param", exponential>(134),
    message<"flatten_param", flatten>(135),
    message<"reduction_param", reduction>(136),
    message<"tile_param", tile>(138),
    message<"batch_norm_param", batch_norm>(139),
    message<"elu_param", elu>(140),
    message<"bias_param", bias>(141),
    message<"scale_param", scale>(142),
    message<"input_param", input>(143),
    message<"crop_param", crop>(144),
    message<"clip_param", clip>(148),
    message<"permute_param", permute>(202),
};

constexpr FieldEntry old_parameters[] = {
    message<"concat_param", concat>(9),
    message<"convolution_param", convolution>(10),
    message<"inner_product_param", inner_product>(17),
    message<"lrn_param", lrn>(18),
    message<"pooling_param", pooling>(19),
    message<"power_param", power>(21),
    message<"memory_data_param", memory_data>(22),
    message<"argmax_param", arg_max>(23),
    message<"eltwise_param", eltwise>(24),
    message<"threshold_param", threshold>(25),
    message<"dummy_data_param", dummy_data>(26),
    message<"relu_param", relu>(30),
    message<"slice_param", slice>(31),
    message<"mvn_param", mvn>(34),
    message<"transform_param", transform>(36),
    message<"softmax_param", softmax>(39),
    message<"exp_param", exponential>(41),
};

} // namespace

std::span<const FieldEntry> layer_parameters() {
  return parameters;
}
std::span<const FieldEntry> old_layer_parameters() {
  return old_parameters;
}
std::span<const FieldEntry> shape_fields() {
  return dims;
}

} // namespace lanner::caffe
