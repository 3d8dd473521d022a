#include "values/view.h"

#include <cstring>

#include <lanner/dlpack_structs.h>
#include <lanner/error.h>

#include "calls/check.h"

namespace lanner::python {
namespace {

nb::tuple tuple_of(const std::vector<std::int64_t>& values) {
  nb::list list;
  for (const std::int64_t value : values) list.append(value);
  return nb::tuple(list);
}

/// Whether all planes have the same size, pitch and distance.
bool stacked(const Image& image) {
  for (int i = 1; i < plane_count(image.format); ++i) {
    const Plane &above = plane_at(image, i - 1), &plane = plane_at(image, i);
    if (plane.pitch != above.pitch || plane.data != above.data + above.pitch * above.height) return false;
  }
  return true;
}

struct Exported {
  View view;
  std::vector<std::int64_t> strides; ///< Strides in samples.
};

DLTensor tensor_of(Exported& exported) {
  const View& view = exported.view;
  const bool host = view.device.is_host();
  return {view.data,
          {host ? kDLCPU : kDLCUDA, host ? 0 : view.device.index},
          static_cast<std::int32_t>(view.shape.size()),
          {kDLUInt, static_cast<std::uint8_t>(view.wide ? 16 : 8), 1},
          const_cast<std::int64_t*>(view.shape.data()),
          exported.strides.data(),
          0};
}

std::unique_ptr<Exported> exported_of(const View& view) {
  auto exported = std::make_unique<Exported>(Exported{view, view.strides});
  for (std::int64_t& stride : exported->strides) {
    check(!view.wide || stride % 2 == 0, ErrorCode::unsupported,
          "dlpack: a pitch of {} bytes is not a multiple of the sample size", stride);
    stride /= view.wide ? 2 : 1;
  }
  return exported;
}

template<typename Managed>
void delete_managed(Managed* managed) {
  delete static_cast<Exported*>(managed->manager_ctx);
  delete managed;
}

template<typename Managed>
nb::object capsule_of(std::unique_ptr<Managed> managed, const char* name) {
  nb::object capsule = nb::steal(PyCapsule_New(managed.get(), name, [](PyObject* object) {
    const char* current = PyCapsule_GetName(object);
    if (!current || std::string_view(current).starts_with("used")) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(object, current));
    if (unused) unused->deleter(unused);
  }));
  if (!capsule.is_valid()) throw nb::python_error();
  managed.release();
  return capsule;
}

nb::object unversioned(const View& view) {
  auto exported = exported_of(view);
  auto managed = std::make_unique<DLManagedTensor>();
  managed->dl_tensor = tensor_of(*exported);
  managed->manager_ctx = exported.release();
  managed->deleter = delete_managed<DLManagedTensor>;
  return capsule_of(std::move(managed), "dltensor");
}

nb::object versioned(const View& view) {
  auto exported = exported_of(view);
  auto managed = std::make_unique<DLManagedTensorVersioned>();
  managed->version = {1, 0};
  managed->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  managed->dl_tensor = tensor_of(*exported);
  managed->manager_ctx = exported.release();
  managed->deleter = delete_managed<DLManagedTensorVersioned>;
  return capsule_of(std::move(managed), "dltensor_versioned");
}

nb::dict interface_of(const View& view) {
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = view.wide ? "<u2" : "|u1";
  interface["shape"] = tuple_of(view.shape);
  interface["strides"] = tuple_of(view.strides);
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(view.data), true);
  return interface;
}

} // namespace

View plane_view(const Image& image, std::size_t index, Stream stream) {
  const PixelFormatInfo& facts = format_info(image.format);
  const Plane& plane = plane_at(image, static_cast<int>(index));
  const std::int64_t samples = facts.samples[index], bytes = facts.bytes_per_sample;
  View view{image.owner,  plane.data, bytes == 2, {plane.height, plane.width}, {plane.pitch, samples * bytes},
            image.device, stream};
  if (samples > 1) {
    view.shape.push_back(samples);
    view.strides.push_back(bytes);
  }
  return view;
}

View image_view(const Image& image, Stream stream) {
  if (!image.defined()) throw nb::attribute_error("there is no picture");
  const PixelFormatInfo& facts = format_info(image.format);
  View view = plane_view(image, 0, stream);
  if (facts.planes == 1) return view;
  const bool semi_planar = facts.planes == 2 && facts.chroma_x == 1 && image.width % 2 == 0;
  const bool equal = facts.planes == 3 && facts.chroma_x == 0 && facts.chroma_y == 0;
  if (!stacked(image) || !(semi_planar || equal))
    throw nb::attribute_error(
        fmt::format(
            "a frame of format {} is not one array; take its planes, or open the video with format=\"rgb24\"",
            facts.name)
            .c_str());
  if (semi_planar) {
    view.shape[0] += image.planes[1].height;
    return view;
  }
  view.shape.insert(view.shape.begin(), plane_count(image.format));
  view.strides.insert(view.strides.begin(), image.planes[0].pitch * image.planes[0].height);
  return view;
}

nb::dict array_interface(const View& view) {
  if (!view.device.is_host()) throw nb::attribute_error("the samples are on a GPU");
  return interface_of(view);
}

nb::dict cuda_array_interface(const View& view) {
  if (view.device.is_host()) throw nb::attribute_error("the samples are in host memory");
  nb::dict interface = interface_of(view);
  if (view.stream.handle)
    interface["stream"] = reinterpret_cast<std::uintptr_t>(view.stream.handle);
  else
    interface["stream"] = nb::none();
  return interface;
}

nb::object dlpack(const View& view, nb::handle stream, nb::handle max_version, nb::handle copy) {
  check(copy.is_none() || !nb::cast<bool>(copy), ErrorCode::unsupported,
        "dlpack: copy=True is not supported; take it without copy=True and copy it there");
  const bool same =
      !stream.is_none() && nb::cast<std::int64_t>(stream) ==
                               static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view.stream.handle));
  const bool unordered = !stream.is_none() && nb::cast<std::int64_t>(stream) == -1;
  if (view.stream.handle && !same && !unordered) {
    ReleasedGil release;
    wait_for(view.device, view.stream);
  }
  if (!max_version.is_none() && nb::cast<int>(max_version[0]) >= 1) return versioned(view);
  return unversioned(view);
}

nb::tuple dlpack_device(const View& view) {
  return view.device.is_host() ? nb::make_tuple(static_cast<int>(kDLCPU), 0)
                               : nb::make_tuple(static_cast<int>(kDLCUDA), view.device.index);
}

void register_view(nb::module_& module) {
  nb::class_<View>(
      module, "Plane",
      "One plane of samples, read-only and without a copy: numpy.asarray, torch.from_dlpack and anything "
      "that reads the array interfaces or DLPack share its memory. Rows lie `pitch` bytes apart.")
      .def_prop_ro(
          "shape", [](const View& self) { return tuple_of(self.shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"),
          "(height, width), or (height, width, samples of a pixel).")
      .def_prop_ro(
          "strides", [](const View& self) { return tuple_of(self.strides); },
          nb::sig("def strides(self) -> tuple[int, ...]"),
          "Bytes from one element to the next, by dimension.")
      .def_prop_ro(
          "pitch", [](const View& self) { return self.strides[0]; }, "Bytes from one row to the next.")
      .def_prop_ro(
          "dtype", [](const View& self) { return self.wide ? "uint16" : "uint8"; },
          "`uint8`, or `uint16` for more than 8 bits.")
      .def_prop_ro(
          "device", [](const View& self) { return self.device.to_string(); },
          "Where the samples are: `cpu`, `cuda:0`.")
      .def_prop_ro(
          "ptr", [](const View& self) { return reinterpret_cast<std::uintptr_t>(self.data); },
          "Address of the first sample.")
      .def_prop_ro(
          "__array_interface__", [](const View& self) { return array_interface(self); },
          nb::sig("def __array_interface__(self) -> dict[str, object]"))
      .def_prop_ro(
          "__cuda_array_interface__", [](const View& self) { return cuda_array_interface(self); },
          nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"))
      .def(
          "__dlpack__",
          [](const View& self, nb::handle stream, nb::handle max_version, nb::handle, nb::handle copy) {
            return dlpack(self, stream, max_version, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__", &dlpack_device, nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__repr__", [](const View& self) {
        return fmt::format("lanner.Plane({}, {}x{}, pitch {}, {})", self.wide ? "uint16" : "uint8",
                           self.shape[1], self.shape[0], self.strides[0], self.device.to_string());
      });
}

} // namespace lanner::python
