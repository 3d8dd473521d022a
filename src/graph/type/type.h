#pragma once
// Types of values: tensors, sequences, optionals.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/dtype.h>
#include <lanner/shape.h>

#include "graph/type/dim.h"

namespace lanner {

/// A tensor of dtype and dims, a sequence or an optional of an element type. Immutable; cheap to copy.
/// Text: `f32[N, 3, 224, 224]`, `f32[*]` (rank unknown), `seq(i64[2])`, `opt(f32[4])`.
class Type {
public:
  enum class Kind : std::uint8_t { tensor, sequence, optional };

  Type() = default;
  Type(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {}
  Type(DType dtype, const Shape& shape);
  static Type unranked(DType dtype);
  static Type sequence(Type element);
  static Type optional(Type element);

  Kind kind() const noexcept { return kind_; }
  bool is_tensor() const noexcept { return kind_ == Kind::tensor; }
  DType dtype() const; ///< Of a tensor; else Error{internal}.
  bool ranked() const noexcept { return kind_ == Kind::tensor && dims_.has_value(); }
  const Dims& dims() const; ///< Of a ranked tensor; else Error{internal}.
  std::size_t rank() const { return dims().size(); }
  const Type& element() const; ///< Of a sequence or an optional.

  bool is_static() const; ///< A ranked tensor whose dims are all constant.
  Shape shape() const;    ///< Of a static tensor; else Error{internal}.
  Type with_dims(Dims dims) const { return Type(dtype(), std::move(dims)); }
  Type with_dtype(DType dtype) const;
  Type substitute(const Bindings& values) const;

  std::string to_string() const;
  static Type parse(std::string_view text); ///< Throws Error{bad_data}.
  friend bool operator==(const Type&, const Type&);

private:
  Kind kind_ = Kind::tensor;
  DType dtype_ = DType::f32;
  std::optional<Dims> dims_;
  std::shared_ptr<const Type> element_;
};

} // namespace lanner
