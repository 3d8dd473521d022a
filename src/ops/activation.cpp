// Activation functions: elementwise, of one operand and constants.

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "ops/arguments.h"
#include "ops/elementwise.h"
#include "ops/table.h"

namespace lanner::ops {

using FloatComputeTypes = Types<float, double>;

/// A function that `prepare(attributes)` returns, on elements of `types`.
template<typename AllowedTypes, typename Prepare>
static OpDef activation(std::string name, std::vector<AttributeSpec> attributes, AllowedTypes types,
                        Prepare prepare) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.attributes = std::move(attributes);
  op.infer = std::is_same_v<AllowedTypes, FloatComputeTypes> ? infer_same_float : infer_same;
  op.reference = [types, prepare](KernelContext& context) {
    map_numbers(context, types, prepare(context.attributes()));
  };
  return op;
}

// Attributes are f32 in ONNX's files; as f32 they give the same answers whether read from a file or from
// text.
template<typename T>
static T constant(double value) {
  return static_cast<T>(static_cast<float>(value));
}

static auto prepare_relu(const AttributeMap&) {
  return []<typename T>(T x) { return x < T{0} ? T{0} : x; };
}

static auto prepare_leaky_relu(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 0.01f)]<typename T>(T x) {
    return x < 0 ? constant<T>(alpha) * x : x;
  };
}

static auto prepare_thresholded_relu(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 1)]<typename T>(T x) { return x > constant<T>(alpha) ? x : T{0}; };
}

static auto prepare_elu(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 1)]<typename T>(T x) {
    return x < 0 ? constant<T>(alpha) * std::expm1(x) : x;
  };
}

static auto prepare_celu(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 1)]<typename T>(T x) {
    const T a = constant<T>(alpha);
    return x < 0 ? a * std::expm1(x / a) : x;
  };
}

static constexpr double selu_alpha = 1.67326319217681884765625;
static constexpr double selu_gamma = 1.05070102214813232421875;

static auto prepare_selu(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", selu_alpha),
          gamma = attributes.real("gamma", selu_gamma)]<typename T>(T x) {
    return constant<T>(gamma) * (x > 0 ? x : constant<T>(alpha) * std::expm1(x));
  };
}

template<typename T>
static T unit_clamp(T x) {
  return x < 0 ? T{0} : x > 1 ? T{1} : x;
}

static auto prepare_hard_sigmoid(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 0.2f), beta = attributes.real("beta", 0.5)]<typename T>(T x) {
    return unit_clamp(constant<T>(alpha) * x + constant<T>(beta));
  };
}

static auto prepare_hard_swish(const AttributeMap&) {
  return []<typename T>(T x) { return x * unit_clamp(x / 6 + T(0.5)); };
}

static auto prepare_swish(const AttributeMap& attributes) {
  return [alpha = attributes.real("alpha", 1)]<typename T>(T x) {
    return x / (1 + std::exp(-constant<T>(alpha) * x));
  };
}

static auto prepare_mish(const AttributeMap&) {
  return
      []<typename T>(T x) { return x * std::tanh((x < 0 ? T{0} : x) + std::log1p(std::exp(-std::abs(x)))); };
}

static auto prepare_gelu(const AttributeMap& attributes) {
  const std::string approximate = attributes.string("approximate", "none");
  check(approximate == "none" || approximate == "tanh", ErrorCode::invalid_argument,
        "gelu: approximate is \"{}\", expected \"none\" or \"tanh\"", approximate);
  return [by_tanh = approximate == "tanh"]<typename T>(T x) {
    if (!by_tanh) return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>));
    const T scale = std::sqrt(2 * std::numbers::inv_pi_v<T>);
    return x / 2 * (1 + std::tanh(scale * (x + T(0.044715) * x * x * x)));
  };
}

static auto prepare_shrink(const AttributeMap& attributes) {
  return [bias = attributes.real("bias", 0), bound = attributes.real("lambd", 0.5)]<typename T>(T x) {
    // Integers are compared and moved as real numbers, then truncated.
    using Real = std::conditional_t<std::is_same_v<T, float>, float, double>;
    const Real value = static_cast<Real>(x);
    if (value < -constant<Real>(bound)) return static_cast<T>(value + constant<Real>(bias));
    if (value > constant<Real>(bound)) return static_cast<T>(value - constant<Real>(bias));
    return T{0};
  };
}

// The slope spreads over x, not x over the slope.
static void infer_prelu(InferContext& context) {
  common_dtype(context);
  const Type &x = context.input(0), &slope = context.input(1);
  if (x.ranked() && slope.ranked()) {
    const std::size_t rank = slope.rank();
    bool fits = rank <= x.rank();
    for (std::size_t i = 0; fits && i < rank; ++i) {
      const Dim &size = slope.dims()[i], &wide = x.dims()[x.rank() - rank + i];
      fits = !size.is_constant() || size.constant() == 1 || !wide.is_constant() || size == wide;
    }
    check(fits, ErrorCode::invalid_argument, "the slope {} does not spread over the input {}",
          slope.to_string(), x.to_string());
  }
  infer_same(context);
}

static OpDef prelu_op() {
  OpDef op = elementwise_op("prelu", 2);
  op.infer = infer_prelu;
  op.reference = [](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    const Tensor x = to_dtype(context.input(0), type), slope = to_dtype(context.input(1), type);
    through_dtype(context.output(0), type, [&](Tensor& out) {
      visit_dtype(type, ComputeTypes{}, [&]<typename T>(Tag<T>) {
        combine_elements<T, T, T>(x, slope, out,
                                  [](T a, T b) { return a < T{0} ? static_cast<T>(a * b) : a; });
      });
    });
  };
  return op;
}

// swi_glu(a, b) = swish(a) * b.
static OpDef swi_glu_op() {
  OpDef op = elementwise_op("swi_glu", 2);
  op.attributes = {real_attribute("alpha", 1)};
  op.infer = [](InferContext& context) {
    common_dtype(context);
    infer_same_float(context);
  };
  op.reference = [](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    const Tensor gate = to_dtype(context.input(0), type), linear = to_dtype(context.input(1), type);
    const auto swish = prepare_swish(context.attributes());
    through_dtype(context.output(0), type, [&](Tensor& out) {
      visit_dtype(type, FloatComputeTypes{}, [&]<typename T>(Tag<T>) {
        combine_elements<T, T, T>(gate, linear, out, [&](T a, T b) { return swish(a) * b; });
      });
    });
  };
  return op;
}

std::vector<OpDef> activation_ops() {
  const FloatComputeTypes floats;
  return {
      activation("relu", {}, ComputeTypes{}, prepare_relu),
      activation("leaky_relu", {real_attribute("alpha", 0.01f)}, floats, prepare_leaky_relu),
      activation("thresholded_relu", {real_attribute("alpha", 1)}, floats, prepare_thresholded_relu),
      activation("elu", {real_attribute("alpha", 1)}, floats, prepare_elu),
      activation("celu", {real_attribute("alpha", 1)}, floats, prepare_celu),
      activation("selu", {real_attribute("alpha", selu_alpha), real_attribute("gamma", selu_gamma)}, floats,
                 prepare_selu),
      activation("hard_sigmoid", {real_attribute("alpha", 0.2f), real_attribute("beta", 0.5)}, floats,
                 prepare_hard_sigmoid),
      activation("hard_swish", {}, floats, prepare_hard_swish),
      activation("swish", {real_attribute("alpha", 1)}, floats, prepare_swish),
      activation("mish", {}, floats, prepare_mish),
      activation("gelu", {string_attribute("approximate", "none")}, floats, prepare_gelu),
      activation("shrink", {real_attribute("bias", 0), real_attribute("lambd", 0.5)}, ComputeTypes{},
                 prepare_shrink),
      prelu_op(),
      swi_glu_op(),
  };
}

} // namespace lanner::ops
