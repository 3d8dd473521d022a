#include "values/cuda_array.h"

#include <memory>

#include <lanner/cuda_memory.h>
#include <lanner/decoder.h>
#include <lanner/error.h>

#include "calls/check.h"

namespace lanner::python {
namespace {

constexpr const char* interface = "__cuda_array_interface__";
constexpr std::string_view expected = "a dict of shape, typestr and data, as the CUDA array interface has it";

/// What the DLPack view points into.
struct Held {
  nb::object owner;
  std::vector<std::int64_t> shape, strides;
};

/// `<f4`, `|u1`: byte order, kind, bytes.
DLDataType type_of(const std::string& text) {
  constexpr std::pair<char, int> kinds[] = {
      {'f', kDLFloat}, {'i', kDLInt}, {'u', kDLUInt}, {'b', kDLBool}, {'c', kDLComplex}};
  const bool sized =
      text.size() >= 3 && text.size() <= 4 && text.find_first_not_of("0123456789", 2) == text.npos;
  const int bytes = sized ? std::stoi(text.substr(2)) : 0;
  const bool native = sized && (text[0] == '<' || text[0] == '|' || text[0] == '=' || bytes == 1);
  for (const auto& [letter, code] : kinds)
    if (native && text[1] == letter && bytes >= 1 && bytes <= 16)
      return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * bytes), 1};
  fail(ErrorCode::unsupported, "{}: typestr '{}': expected numbers of this machine's byte order, like '<f4'",
       interface, text);
}

nb::object member(const nb::dict& facts, const char* name) {
  return facts.contains(name) ? nb::object(facts[name]) : nb::none();
}

std::vector<std::int64_t> strides_of(nb::handle given, std::size_t rank, std::int64_t bytes) {
  auto strides = nb::cast<std::vector<std::int64_t>>(given);
  check(strides.size() == rank, ErrorCode::invalid_argument, "{}: {} strides of {} dimensions", interface,
        strides.size(), rank);
  for (std::int64_t& stride : strides) {
    check(stride % bytes == 0, ErrorCode::unsupported,
          "{}: a stride of {} bytes is not a multiple of an element's {}; make it contiguous first",
          interface, stride, bytes);
    stride /= bytes;
  }
  return strides;
}

void wait_for_producer(nb::handle producer, Device device, std::uintptr_t reader) {
  if (producer.is_none()) return;
  const auto handle = nb::cast<std::uintptr_t>(producer);
  check(handle != 0, ErrorCode::invalid_argument,
        "{}: stream 0 is not defined; expected 1 or 2 for the default streams", interface);
  if (handle == reader) return;
  constexpr std::uintptr_t legacy_default = 1; // The driver's null stream.
  const ReleasedGil release;
  wait_for(device, Stream{reinterpret_cast<void*>(handle == legacy_default ? 0 : handle)});
}

std::unique_ptr<DLManagedTensorVersioned> managed_of(nb::handle object, const nb::dict& facts,
                                                     std::uintptr_t stream) {
  auto held = std::make_unique<Held>();
  held->owner = nb::borrow(object);
  held->shape = nb::cast<std::vector<std::int64_t>>(member(facts, "shape"));
  const DLDataType type = type_of(nb::cast<std::string>(member(facts, "typestr")));
  const auto [address, read_only] = nb::cast<std::pair<std::uintptr_t, bool>>(member(facts, "data"));
  if (const nb::object strides = member(facts, "strides"); !strides.is_none())
    held->strides = strides_of(strides, held->shape.size(), type.bits / 8);
  check(member(facts, "mask").is_none(), ErrorCode::unsupported,
        "{}: an array with a mask; give the numbers alone", interface);
  const bool empty = std::ranges::find(held->shape, 0) != held->shape.end();
  void* data = reinterpret_cast<void*>(address);
  const Device device = empty ? Device{} : device_of_cuda_memory(data);
  if (!empty) wait_for_producer(member(facts, "stream"), device, stream);
  auto managed = std::make_unique<DLManagedTensorVersioned>();
  managed->version = {1, 0};
  managed->flags = read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  managed->dl_tensor = {empty ? nullptr : data,
                        {empty ? kDLCPU : kDLCUDA, device.index},
                        static_cast<std::int32_t>(held->shape.size()),
                        type,
                        held->shape.data(),
                        held->strides.empty() ? nullptr : held->strides.data(),
                        0};
  managed->manager_ctx = held.release();
  managed->deleter = [](DLManagedTensorVersioned* self) {
    if (const HeldGil gil{}) delete static_cast<Held*>(self->manager_ctx);
    delete self;
  };
  return managed;
}

} // namespace

bool is_cuda_array(nb::handle object) {
  return !nb::hasattr(object, "__dlpack__") && !nb::hasattr(object, "__array_interface__") &&
         nb::hasattr(object, interface);
}

DLManagedTensorVersioned* view_of_cuda_array(nb::handle object, std::uintptr_t stream) {
  const nb::object facts = object.attr(interface);
  if (!nb::isinstance<nb::dict>(facts)) refuse(interface, facts, "is of the wrong type", expected);
  return with_option_named(
             interface, facts, [&] { return managed_of(object, nb::cast<nb::dict>(facts), stream); },
             expected)
      .release();
}

} // namespace lanner::python
