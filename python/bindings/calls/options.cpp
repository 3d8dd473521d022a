#include "calls/options.h"

namespace lanner::python {

nb::dict to_dict(std::string_view option, nb::handle given, std::string_view expected) {
  if (nb::isinstance<nb::dict>(given)) return nb::borrow<nb::dict>(given);
  if (PyMapping_Check(given.ptr()) == 0 || !nb::hasattr(given, "keys"))
    refuse(option, given, "is of the wrong type", expected);
  nb::dict made;
  if (PyDict_Update(made.ptr(), given.ptr()) != 0) throw nb::python_error();
  return made;
}

std::vector<nb::dict> to_dicts(std::string_view option, nb::handle given, std::string_view expected) {
  return with_option_named(
      option, given,
      [&] {
        std::vector<nb::dict> dicts;
        for (nb::handle one : given) {
          if (!nb::hasattr(one, "keys")) throw std::bad_cast();
          dicts.push_back(to_dict(option, one, expected));
        }
        return dicts;
      },
      expected);
}

std::string to_name(nb::handle given) {
  if (!nb::isinstance<nb::str>(given)) throw std::bad_cast();
  return bytes_of(given, "surrogateescape");
}

std::vector<std::string> to_names(nb::handle given) {
  if (nb::isinstance<nb::str>(given)) throw std::bad_cast(); // else each letter would be one
  std::vector<std::string> names;
  for (nb::handle one : given) names.push_back(to_name(one));
  return names;
}

nb::dict shapes_dict(const std::map<std::string, Shape>& shapes) {
  nb::dict result;
  for (const auto& [name, shape] : shapes) {
    nb::list sizes;
    for (const std::int64_t size : shape) sizes.append(size);
    result[text_of(name)] = nb::tuple(sizes);
  }
  return result;
}

Shape to_shape(nb::handle sizes) {
  Shape shape;
  for (nb::handle size : sizes) shape.push_back(nb::cast<std::int64_t>(size));
  return shape;
}

ShapeRange to_range(nb::handle sizes) {
  const bool nested = nb::len(sizes) == 3 && PyIndex_Check(nb::object(sizes[0]).ptr()) == 0;
  return nested ? ShapeRange{to_shape(sizes[0]), to_shape(sizes[1]), to_shape(sizes[2])}
                : ShapeRange::fixed(to_shape(sizes));
}

} // namespace lanner::python
