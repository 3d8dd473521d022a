// lanner.Tensor, and conversions to it.

#include <cstring>

#include <fmt/format.h>

#include <lanner/dlpack.h>
#include <lanner/dlpack_structs.h>
#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "engine/notebook.h"
#include "values/cuda_array.h"
#include "values/frozen.h"

namespace lanner::python {
namespace {

/// NumPy's typestr if NumPy has the type itself.
const char* typestr(DType type) {
  switch (type) {
  case DType::f32:
    return "<f4";
  case DType::f64:
    return "<f8";
  case DType::f16:
    return "<f2";
  case DType::i8:
    return "|i1";
  case DType::u8:
    return "|u1";
  case DType::i16:
    return "<i2";
  case DType::u16:
    return "<u2";
  case DType::i32:
    return "<i4";
  case DType::u32:
    return "<u4";
  case DType::i64:
    return "<i8";
  case DType::u64:
    return "<u8";
  case DType::boolean:
    return "|b1";
  case DType::c64:
    return "<c8";
  case DType::c128:
    return "<c16";
  default:
    return nullptr;
  }
}

/// The type's name in NumPy or in the package ml_dtypes.
std::string numpy_name(DType type) {
  switch (type) {
  case DType::f32:
    return "float32";
  case DType::f64:
    return "float64";
  case DType::f16:
    return "float16";
  case DType::bf16:
    return "bfloat16";
  case DType::i8:
    return "int8";
  case DType::u8:
    return "uint8";
  case DType::i16:
    return "int16";
  case DType::u16:
    return "uint16";
  case DType::i32:
    return "int32";
  case DType::u32:
    return "uint32";
  case DType::i64:
    return "int64";
  case DType::u64:
    return "uint64";
  case DType::boolean:
    return "bool";
  case DType::string:
    return "str";
  case DType::c64:
    return "complex64";
  case DType::c128:
    return "complex128";
  case DType::i4:
    return "int4";
  case DType::u4:
    return "uint4";
  case DType::i2:
    return "int2";
  case DType::u2:
    return "uint2";
  case DType::f4e2m1:
    return "float4_e2m1fn";
  case DType::f8e4m3fn:
    return "float8_e4m3fn";
  case DType::f8e4m3fnuz:
    return "float8_e4m3fnuz";
  case DType::f8e5m2:
    return "float8_e5m2";
  case DType::f8e5m2fnuz:
    return "float8_e5m2fnuz";
  case DType::f8e8m0:
    return "float8_e8m0fnu";
  }
  return "?";
}

DType from_numpy_name(const std::string& name) {
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (numpy_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  fail(ErrorCode::unsupported, "an array of NumPy type {} cannot become a tensor", name);
}

/// Deleter: releases, under the GIL, an object whose memory a tensor views.
struct LetGo {
  void operator()(const nb::object* held) const {
    if (const HeldGil gil{}) delete held;
  }
};

/// Keeps a Python object for as long as any tensor views its memory.
std::shared_ptr<const void> keep(nb::object object) {
  return std::shared_ptr<const nb::object>(new nb::object(std::move(object)), LetGo{});
}

nb::tuple shape_tuple(const Shape& shape) {
  nb::list dims;
  for (std::int64_t size : shape) dims.append(size);
  return nb::tuple(dims);
}

Tensor packed_below_a_byte(const nb::object& array, DType type, const Shape& shape) {
  const nb::object bytes = array.attr("view")("uint8").attr("tobytes")();
  const nb::bytes raw = nb::cast<nb::bytes>(bytes);
  Tensor tensor = Tensor::zeros(type, shape);
  auto* data = static_cast<std::uint8_t*>(tensor.data());
  const std::size_t bits = bit_width(type), per_byte = 8 / bits;
  const auto mask = static_cast<std::uint8_t>((1u << bits) - 1u);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto value = static_cast<std::uint8_t>(static_cast<std::uint8_t>(raw.c_str()[i]) & mask);
    data[i / per_byte] = static_cast<std::uint8_t>(data[i / per_byte] | (value << (i % per_byte * bits)));
  }
  return tensor;
}

Tensor string_tensor(const nb::object& array, const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::string, shape);
  const nb::object flat = array.attr("ravel")().attr("tolist")();
  std::size_t i = 0;
  for (nb::handle element : flat) {
    if (!nb::isinstance<nb::bytes>(element) && !nb::isinstance<nb::str>(element))
      fail(ErrorCode::invalid_argument,
           "an array of objects becomes strings: expected str and bytes in it, got {}", shown(element));
    tensor.as<std::string>()[i++] = bytes_of(element, "surrogateescape");
  }
  return tensor;
}

/// A tensor from another library, and whether it shares memory with it.
struct Foreign {
  Tensor tensor;
  bool shared;   ///< Views the memory; else it is a copy.
  bool writable; ///< The memory may be written.
};

/// Replaces `array` by one that can be viewed: C order, native byte order, aligned.
Foreign viewable(nb::object& array) {
  const nb::object dtype = array.attr("dtype"), flags = array.attr("flags");
  const bool native = nb::cast<bool>(dtype.attr("isnative"));
  if (native && nb::cast<bool>(flags.attr("carray")))
    return {{}, true, true}; // carray: C order, aligned and writable
  if (native && nb::cast<bool>(flags.attr("c_contiguous")) && nb::cast<bool>(flags.attr("aligned")))
    return {{}, true, false};
  array = native ? array.attr("copy")()
                 : array.attr("astype")(dtype.attr("newbyteorder")("="), nb::arg("order") = "C");
  return {{}, false, true};
}

Foreign from_numpy(nb::object array) {
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const bool text = kind == "O" || kind == "U" || kind == "S";
  Foreign foreign = text ? Foreign{{}, false, true} : viewable(array);
  Shape shape;
  for (nb::handle size : array.attr("shape")) shape.push_back(nb::cast<std::int64_t>(size));
  if (text) return {string_tensor(array, shape), false, true};
  const DType type = from_numpy_name(nb::cast<std::string>(array.attr("dtype").attr("name")));
  if (bit_width(type) < 8) return {packed_below_a_byte(array, type, shape), false, true};
  const auto address = nb::cast<std::uintptr_t>(array.attr("ctypes").attr("data"));
  foreign.tensor = Tensor::wrap(reinterpret_cast<void*>(address), type, shape, keep(std::move(array)));
  if (!foreign.writable) foreign.tensor = frozen(std::move(foreign.tensor));
  return foreign;
}

bool may_write(const DLManagedTensor&) {
  return true;
}
bool may_write(const DLManagedTensorVersioned& managed) {
  return (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
}

template<typename Managed>
Foreign taken(Managed* managed) {
  const bool writable = may_write(*managed);
  const void* data = static_cast<const std::byte*>(managed->dl_tensor.data) + managed->dl_tensor.byte_offset;
  Tensor tensor = from_dlpack(managed);
  const bool shared = tensor.data() == data;
  if (shared && !writable) tensor = frozen(std::move(tensor));
  return {std::move(tensor), shared, writable};
}

/// Arguments for `__dlpack__`: for GPU memory the stream that will read it.
nb::dict dlpack_request(nb::handle object, std::uintptr_t stream) {
  constexpr int legacy_default = 1; // DLPack's number for CUDA's stream 0
  nb::dict request;
  request["max_version"] = nb::make_tuple(1, 1);
  if (!nb::hasattr(object, "__dlpack_device__")) return request;
  const nb::object device = object.attr("__dlpack_device__")();
  if (nb::cast<int>(nb::object(device[0])) != static_cast<int>(kDLCUDA)) return request;
  request["stream"] = stream == 0 ? nb::int_(legacy_default) : nb::int_(stream);
  return request;
}

Foreign take_capsule(nb::handle object, std::uintptr_t stream) {
  nb::dict request = dlpack_request(object, stream);
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(**request);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    nb::del(request["max_version"]);
    capsule = object.attr("__dlpack__")(**request);
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  check(name != nullptr, ErrorCode::bad_data, "__dlpack__ returned a capsule without a name");
  const std::string_view kind = name;
  check(kind == "dltensor" || kind == "dltensor_versioned", ErrorCode::bad_data,
        "__dlpack__ returned a capsule named '{}'", kind);
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  const bool versioned = kind == "dltensor_versioned";
  PyCapsule_SetName(capsule.ptr(), versioned ? "used_dltensor_versioned" : "used_dltensor");
  return versioned ? taken(static_cast<DLManagedTensorVersioned*>(pointer))
                   : taken(static_cast<DLManagedTensor*>(pointer));
}

template<typename Managed>
nb::object capsule_of(Managed* managed, const char* name) {
  return nb::steal(PyCapsule_New(managed, name, [](PyObject* capsule) {
    const char* current = PyCapsule_GetName(capsule);
    if (!current || std::string_view(current).starts_with("used")) return;
    // An unconsumed capsule is converted to a tensor again, which releases it.
    void* pointer = PyCapsule_GetPointer(capsule, current);
    from_dlpack(static_cast<Managed*>(pointer));
  }));
}

nb::object dlpack(const Tensor& self, nb::handle, nb::handle max_version, nb::handle, nb::handle copy) {
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  check(!copied || self.device().is_host(), ErrorCode::unsupported,
        "dlpack: copy=True of a tensor on {} is not supported; take it without copy=True and copy it there",
        self.device().to_string());
  const Tensor tensor = copied ? self.clone() : self;
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (versioned) {
    auto* managed = to_dlpack_versioned(tensor);
    if (read_only(tensor)) managed->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return capsule_of(managed, "dltensor_versioned");
  }
  return capsule_of(to_dlpack(tensor), "dltensor");
}

nb::dict array_interface(const Tensor& self) {
  const char* type = typestr(self.dtype());
  if (!type || !self.layout().blocks.empty() || !self.device().is_host())
    throw nb::attribute_error("no array interface for this type, layout or device");
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = type;
  interface["shape"] = shape_tuple(self.shape());
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(self.data()), read_only(self));
  if (!self.layout().row_major()) {
    nb::list strides;
    for (std::int64_t stride : self.layout().strides(self.shape()))
      strides.append(stride * static_cast<std::int64_t>(bit_width(self.dtype()) / 8));
    interface["strides"] = nb::tuple(strides);
  }
  return interface;
}

nb::dict cuda_array_interface(const Tensor& self) {
  const char* type = typestr(self.dtype());
  if (!type || !self.layout().row_major() || self.device().is_host())
    throw nb::attribute_error("no CUDA array interface for this type, layout or device");
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = type;
  interface["shape"] = shape_tuple(self.shape());
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(self.data()), read_only(self));
  interface["strides"] = nb::none();
  interface["stream"] = 1; // the legacy default stream
  return interface;
}

/// Types that NumPy lacks: strings as objects, small floats by ml_dtypes.
nb::object to_numpy(const Tensor& self) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const Tensor tensor = self.layout().row_major() ? self : self.clone();
  const nb::tuple shape = shape_tuple(tensor.shape());
  if (tensor.dtype() == DType::string) {
    nb::object array = numpy.attr("empty")(tensor.elements(), "object");
    std::int64_t i = 0;
    for (const std::string& text : tensor.as<std::string>())
      array[nb::int_(i++)] = text_of(text, "surrogateescape");
    return array.attr("reshape")(shape);
  }
  const nb::object type =
      numpy.attr("dtype")(nb::module_::import_("ml_dtypes").attr(numpy_name(tensor.dtype()).c_str()));
  const std::size_t bits = bit_width(tensor.dtype());
  const auto count = static_cast<std::size_t>(tensor.elements());
  std::string bytes(bits < 8 ? count : count * bits / 8, '\0');
  const auto* data = static_cast<const std::uint8_t*>(tensor.data());
  if (bits >= 8) {
    std::memcpy(bytes.data(), data, bytes.size());
  } else {
    const std::size_t per_byte = 8 / bits;
    const bool sign = is_signed(tensor.dtype()) && is_integer(tensor.dtype());
    for (std::size_t i = 0; i < count; ++i) {
      unsigned value = (data[i / per_byte] >> (i % per_byte * bits)) & ((1u << bits) - 1u);
      if (sign && (value >> (bits - 1))) value |= 0xffu << bits;
      bytes[i] = static_cast<char>(value);
    }
  }
  return numpy.attr("frombuffer")(nb::bytes(bytes.data(), bytes.size()), type)
      .attr("reshape")(shape)
      .attr("copy")();
}

nb::object array(const Tensor& self, nb::object dtype, nb::object copy) {
  if (!self.device().is_host()) return array(self.to(Device{}), std::move(dtype), std::move(copy));
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object result;
  if (typestr(self.dtype())) {
    nb::object held = nb::cast(self);
    result = numpy.attr("asarray")(held);
  } else {
    result = to_numpy(self);
  }
  if (!dtype.is_none()) result = result.attr("astype")(dtype, nb::arg("copy") = false);
  if (!copy.is_none() && nb::cast<bool>(copy)) result = result.attr("copy")();
  return result;
}

Foreign foreign_of(nb::handle object, std::uintptr_t stream) {
  if (nb::isinstance<Tensor>(object)) {
    const Tensor& tensor = nb::cast<const Tensor&>(object);
    return {tensor, true, !read_only(tensor)};
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance(object, numpy.attr("ndarray"))) return from_numpy(nb::borrow(object));
  if (nb::hasattr(object, "__dlpack__") && !nb::isinstance(object, numpy.attr("generic")))
    return take_capsule(object, stream);
  if (is_cuda_array(object)) return taken(view_of_cuda_array(object, stream));
  Foreign copied = from_numpy(numpy.attr("asarray")(object));
  copied.shared = false;
  return copied;
}

} // namespace

Tensor to_tensor(nb::handle object, std::uintptr_t stream) {
  return foreign_of(object, stream).tensor;
}

Tensor to_output(nb::handle object, std::uintptr_t stream) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const bool array = nb::isinstance<Tensor>(object) || nb::isinstance(object, numpy.attr("ndarray")) ||
                     nb::hasattr(object, "__dlpack__") || is_cuda_array(object);
  if (!array)
    fail(ErrorCode::invalid_argument, "results are written to arrays and tensors, got {}", shown(object));
  Foreign foreign = foreign_of(object, stream);
  check(foreign.shared, ErrorCode::invalid_argument,
        "results are written to arrays of numbers that are contiguous, aligned and of the machine's byte "
        "order, which this one is not");
  check(foreign.writable, ErrorCode::invalid_argument, "results cannot be written to read-only memory");
  return std::move(foreign.tensor);
}

namespace {

/// Recursion guard: a list may contain itself.
class Deeper {
public:
  Deeper() {
    if (Py_EnterRecursiveCall(" in a list that an input is made of") != 0) throw nb::python_error();
  }
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

} // namespace

Item to_item(nb::handle object, bool sequence, std::uintptr_t stream) {
  Item item;
  if (object.is_none()) {
    item.absent = true;
  } else if (sequence && (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))) {
    const Deeper deeper;
    auto items = std::make_shared<std::vector<Item>>();
    for (nb::handle element : nb::tuple(nb::borrow(object))) {
      items->push_back(to_item(element, nb::isinstance<nb::list>(element), stream));
      // Results would share the elements' memory, which belongs to the caller.
      if (Tensor& tensor = items->back().tensor; tensor.defined()) tensor = tensor.clone();
    }
    item.items = std::move(items);
  } else {
    item.tensor = to_tensor(object, stream);
    if (sequence) item.tensor = item.tensor.clone();
  }
  return item;
}

nb::object from_item(const Item& item) {
  if (item.absent) return nb::none();
  if (!item.is_sequence()) return nb::cast(item.tensor);
  nb::list list;
  for (const Item& element : *item.items) list.append(from_item(element));
  return list;
}

void register_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor",
                     "A typed array of any shape, in host or GPU memory. NumPy reads host memory without a "
                     "copy; DLPack exchanges tensors with PyTorch, CuPy and others in both directions.")
      .def(
          "__init__", [](Tensor* self, nb::handle object) { new (self) Tensor(to_tensor(object)); },
          nb::arg("array"),
          "Shares the array's memory where it can: writing to one changes the other.\n\narray: a NumPy array "
          "or anything with __dlpack__ or __cuda_array_interface__, whose memory is shared, or numbers in "
          "lists, "
          "which are copied")
      .def_prop_ro(
          "shape", [](const Tensor& self) { return shape_tuple(self.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Size of each dimension.")
      .def_prop_ro(
          "dtype", [](const Tensor& self) { return numpy_name(self.dtype()); },
          "Element type by its name in NumPy or ml_dtypes: `float32`, `bfloat16`, `int64`.")
      .def_prop_ro("ndim", &Tensor::rank, "Number of dimensions.")
      .def_prop_ro("size", &Tensor::elements, "Number of elements.")
      .def_prop_ro("nbytes", &Tensor::bytes, "Size in bytes.")
      .def_prop_ro(
          "device", [](const Tensor& self) { return self.device().to_string(); },
          "Where the memory is: `cpu`, `cuda:0`.")
      .def(
          "numpy",
          [](nb::handle self) { return array(nb::cast<const Tensor&>(self), nb::none(), nb::none()); },
          "The elements as a NumPy array: without a copy in host memory if NumPy has the type, else copied "
          "(bfloat16 and others need the package ml_dtypes).")
      .def("__array__", &array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def_prop_ro("__array_interface__", &array_interface,
                   nb::sig("def __array_interface__(self) -> dict[str, typing.Any]"))
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"))
      .def(
          "to", [](const Tensor& self, const std::string& device) { return self.to(Device::parse(device)); },
          nb::arg("device"), nb::call_guard<ReleasedGil>(),
          "A copy on another device, or the tensor itself if it is already there.\n\ndevice: \"cpu\" or "
          "\"cuda:0\"")
      .def("__dlpack__", &dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def(
          "__dlpack_device__",
          [](const Tensor& self) {
            return nb::make_tuple(self.device().is_host() ? 1 : 2, static_cast<int>(self.device().index));
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__len__",
           [](const Tensor& self) {
             check(self.rank() > 0, ErrorCode::invalid_argument, "a tensor of rank 0 has no length");
             return self.shape()[0];
           })
      .def("_repr_html_", &tensor_html, nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", &tensor_text, nb::sig("def __repr__(self) -> str"));
}

} // namespace lanner::python
