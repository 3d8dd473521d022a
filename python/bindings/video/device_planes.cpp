#include "video/device_planes.h"

#include <charconv>
#include <string>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/error.h>

#include "calls/check.h"

namespace lanner::python {
namespace {

constexpr const char* interface_name = "__cuda_array_interface__";

/// Rows of bytes.
struct Rows {
  std::byte* data = nullptr;
  std::int64_t rows = 1, row = 0, pitch = 0;
};

std::vector<std::int64_t> numbers_of(nb::handle tuple) {
  std::vector<std::int64_t> numbers;
  for (nb::handle one : nb::iter(tuple)) numbers.push_back(nb::cast<std::int64_t>(one));
  return numbers;
}

/// Bytes of an element: `|u1`, `<u2`.
std::int64_t element_bytes(const std::string& type) {
  std::int64_t bytes = 0;
  const char* end = type.data() + type.size();
  const bool read = type.size() > 2 && std::from_chars(type.data() + 2, end, bytes).ptr == end;
  check(read && bytes > 0 && bytes <= 16, ErrorCode::invalid_argument,
        "Encoder: an array of elements '{}' in a GPU's memory, expected numbers like |u1", type);
  return bytes;
}

/// What its stream was given is complete, or ordered before `stream`.
void wait_for_stream(const nb::dict& facts, Device device, Stream stream) {
  if (!facts.contains("stream") || nb::object(facts["stream"]).is_none()) return;
  const auto number = nb::cast<std::uintptr_t>(facts["stream"]);
  constexpr std::uintptr_t legacy_default = 1;
  const Stream given{number == legacy_default ? nullptr : reinterpret_cast<void*>(number)};
  if (given.handle == stream.handle) return;
  const ReleasedGil release;
  wait_for(device, given);
}

/// What of it lies without gaps from the last dimension on is a row, the dimensions before count rows.
Rows rows_in(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
             std::int64_t element) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  Rows rows;
  rows.row = element;
  bool fits = !shape.empty() && shape.size() == strides.size();
  for (const std::int64_t size : shape) fits = fits && size > 0 && size <= most;
  std::size_t inner = shape.size();
  while (fits && inner > 0 && (shape[inner - 1] == 1 || strides[inner - 1] == rows.row)) {
    rows.row *= shape[--inner];
    fits = rows.row <= most;
  }
  rows.pitch = inner > 0 ? strides[inner - 1] : rows.row;
  fits = fits && rows.pitch >= rows.row && rows.pitch <= most;
  for (std::size_t i = inner; fits && i-- > 0;) {
    fits = (shape[i] == 1 || strides[i] == rows.pitch * rows.rows) && rows.rows * shape[i] <= most;
    rows.rows *= shape[i];
  }
  check(fits, ErrorCode::invalid_argument,
        "Encoder: an array in a GPU's memory with gaps inside its rows, expected rows without");
  return rows;
}

Rows rows_of(nb::handle object, Device device, Stream stream) {
  const auto facts = nb::cast<nb::dict>(object.attr(interface_name));
  const std::int64_t element = element_bytes(nb::cast<std::string>(facts["typestr"]));
  const std::vector<std::int64_t> shape = numbers_of(facts["shape"]);
  std::vector<std::int64_t> strides;
  if (facts.contains("strides") && !nb::object(facts["strides"]).is_none()) {
    strides = numbers_of(facts["strides"]);
  } else {
    strides.assign(shape.size(), element);
    for (std::size_t i = shape.size(); i-- > 1;)
      if (__builtin_mul_overflow(strides[i], shape[i], &strides[i - 1])) strides[i - 1] = 0; // Fits nothing.
  }
  Rows rows = rows_in(shape, strides, element);
  rows.data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(nb::tuple(facts["data"])[0]));
  check(rows.data != nullptr, ErrorCode::invalid_argument, "Encoder: an array at address 0");
  wait_for_stream(facts, device, stream);
  return rows;
}

/// Bytes of a plane's row.
std::int64_t row_of(const Image& image, std::size_t plane) {
  const PixelFormatInfo& facts = format_info(image.format);
  return std::int64_t{image.planes[plane].width} * facts.samples[plane] * facts.bytes_per_sample;
}

} // namespace

bool has_cuda_planes(nb::handle object) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object))
    return nb::hasattr(object, interface_name);
  if (nb::len(object) == 0) return false;
  for (nb::handle one : nb::iter(object))
    if (!nb::hasattr(one, interface_name)) return false;
  return true;
}

Image picture_of_planes(nb::handle object, const RawFormat& format, std::int32_t width, std::int32_t height,
                        Device device, Stream stream) {
  check(format.order == RawOrder::planes || format.order == RawOrder::swapped_chroma, ErrorCode::unsupported,
        "Encoder: words of 10 bits in a GPU's memory, which are unpacked on the host; copy them there");
  std::vector<Rows> given;
  if (nb::hasattr(object, interface_name))
    given.push_back(rows_of(object, device, stream));
  else
    for (nb::handle one : nb::iter(object)) given.push_back(rows_of(one, device, stream));
  const auto bytes = static_cast<std::size_t>(raw_bytes(format, width, height));
  Image image = image_from_bytes({given[0].data, bytes}, nullptr, format, width, height);
  image.device = device;
  const std::size_t planes = format_info(format.format).planes;
  std::int64_t total = 0;
  for (const Rows& rows : given) total += rows.rows * rows.row;
  bool fits = total == static_cast<std::int64_t>(bytes) && (given.size() == 1 || given.size() == planes);
  const bool dense = given.size() == 1 && (given[0].rows == 1 || given[0].pitch == given[0].row);
  std::byte* next = given[0].data;
  for (std::size_t i = 0; i < planes && fits && !dense; ++i) {
    const bool swapped = format.order == RawOrder::swapped_chroma && i > 0;
    Plane& plane = image.planes[swapped ? 3 - i : i];
    const Rows& rows = given[given.size() == 1 ? 0 : i];
    const bool one_row = rows.rows == 1 && rows.row == plane.height * row_of(image, i);
    fits = (rows.row == row_of(image, i) && (given.size() == 1 || rows.rows == plane.height)) || one_row;
    plane.data = given.size() == 1 ? next : rows.data;
    if (!one_row) plane.pitch = rows.pitch;
    next += rows.pitch * plane.height;
  }
  check(fits, ErrorCode::invalid_argument,
        "Encoder: {} arrays of {} bytes in a GPU's memory, expected one of all planes or one for each of {}, "
        "{} bytes of {}x{} {}",
        given.size(), total, planes, bytes, width, height, format_info(format.format).name);
  return image;
}

} // namespace lanner::python
