#pragma once
// Shared by the files of the Python module: one registration function per noun, and conversions.

#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <lanner/cancel.h>
#include <lanner/item.h>
#include <lanner/limits.h>
#include <lanner/packet.h>
#include <lanner/preprocess.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

#include "calls/gil.h"
#include "calls/text.h"

namespace nb = nanobind;

namespace lanner::python {

void register_errors(nb::module_& module);
void register_tensor(nb::module_& module);
void register_tensor_file(nb::module_& module);
void register_calibration(nb::module_& module);
void register_converted(nb::module_& module);
void register_image(nb::module_& module);
void register_pixels(nb::module_& module);
void register_frame(nb::module_& module);
void register_video_reader(nb::module_& module);
void register_parallel_decoder(nb::module_& module);
void register_video(nb::module_& module);
void register_encoder(nb::module_& module);
void register_transcode(nb::module_& module);
void register_context(nb::module_& module);
void register_verification(nb::module_& module);
void register_engine(nb::module_& module);
void register_build(nb::module_& module);
void register_option_rows(nb::module_& module);
void register_tasks(nb::module_& module);
void register_wrong_calls(nb::module_& module);

/// A tensor that shares memory with `object` where it can: a Tensor, a NumPy array, anything with DLPack, a
/// number or a nested list (copied). `stream`: the stream that will read it; passed to the producer of a GPU
/// tensor, so that the stream waits for pending writes.
Tensor to_tensor(nb::handle object, std::uintptr_t stream = 0);
/// The memory that results are written to: never a copy, never read-only.
Tensor to_output(nb::handle object, std::uintptr_t stream = 0);
/// As to_tensor, also for sequences (lists of tensors if `sequence`) and None (an empty optional).
Item to_item(nb::handle object, bool sequence, std::uintptr_t stream = 0);
nb::object from_item(const Item& item);

/// A source over a path (str, PathLike), bytes-like object or binary file object.
SourcePtr to_source(nb::handle object, const Limits& limits = {});

/// Limits by name: a dict of numbers or of texts like "4GiB"; None are the default ones.
Limits to_limits(nb::handle limits);

/// A fractions.Fraction; with denominator 1 for an unknown value.
nb::object fraction(const Rational& value);

/// Preprocessing from the keywords that every Python entry shares; `none` values keep `base`'s.
Preprocess to_preprocess(const nb::kwargs& keywords, Preprocess base = {});
/// The same for functions whose first argument may be a Preprocess; TypeError names `function`.
Preprocess to_preprocess(std::string_view function, const nb::args& others, const nb::kwargs& keywords);
/// Docstring of such a function, with every keyword.
std::string preprocess_docs(std::string_view begin);

/// The image in host memory; itself if it already is.
Image on_host(const Image& image);
/// PNG for a notebook, made smaller where it is wider than `widest` pixels; None without a picture.
nb::object png_of(const Image& image, std::int32_t widest = 1280);

/// The bytes of a str or bytes; `errors` is Python's.
std::string bytes_of(nb::handle text, const char* errors);
/// The path of a str, bytes or PathLike, in the file system's encoding.
std::string path_of(nb::handle object);

/// At most 80 characters of Python's repr, in one line.
std::string shown(nb::handle value);

/// Throws TypeError with this line; names in it may be any bytes.
[[noreturn]] void fail_type(std::string_view line);
/// The same for an option: `limits: 3 is of the wrong type; expected a dict`. `expected` may be empty.
[[noreturn]] void refuse(std::string_view option, nb::handle value, std::string_view fault,
                         std::string_view expected);

/// Calls `body`, which converts `value`; if that fails, TypeError names the option and what was `expected`.
template<typename Body>
auto with_option_named(std::string_view name, nb::handle value, Body&& body, std::string_view expected = {}) {
  try {
    return body();
  } catch (const std::bad_cast&) {
    refuse(name, value, "is of the wrong type or size", expected);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    refuse(name, value, "is of the wrong type", expected);
  }
}

/// The value of an argument, as a T.
template<typename T>
T to_value(std::string_view name, nb::handle value, std::string_view expected) {
  return with_option_named(
      name, value, [&] { return nb::cast<T>(value); }, expected);
}

/// A Control that checks for Ctrl-C at each progress step. finish() raises a pending interrupt.
class Interruptible {
public:
  explicit Interruptible(nb::object progress = nb::none());
  const Control& control() const { return control_; }
  /// Calls `body` without the GIL and turns a cancellation by Ctrl-C into KeyboardInterrupt.
  template<typename Body>
  auto run(Body&& body) {
    const auto without_gil = [&] {
      ReleasedGil release;
      return body();
    };
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        without_gil();
        raise_interrupt();
      } else {
        auto result = without_gil();
        raise_interrupt(); // It may have come with the last step.
        return result;
      }
    } catch (const Error&) {
      raise_interrupt();
      throw;
    }
  }

private:
  void raise_interrupt() const;
  Control control_;
  nb::object progress_;
};

} // namespace lanner::python
