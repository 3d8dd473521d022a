#include "engine/records.h"

#include <lanner/tf_records.h>

namespace lanner::python {
namespace {

/// A reader; one thread at a time, which the interpreter's lock sees to, as it is kept.
class PyRecordReader {
public:
  PyRecordReader(nb::handle source, nb::handle limits)
      : limits_(to_limits(limits)), reader_(to_source(source, limits_), limits_) {}

  nb::bytes next() {
    const auto record = reader_.next();
    if (!record) throw nb::stop_iteration();
    return nb::bytes(record->data(), record->size());
  }

private:
  const Limits limits_;
  tf::RecordReader reader_;
};

nb::object list_of(const tf::FeatureValues& values) {
  nb::list list;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&values))
    for (const std::string& text : *texts) list.append(nb::bytes(text.data(), text.size()));
  else if (const auto* reals = std::get_if<std::vector<float>>(&values))
    for (const float real : *reals) list.append(real);
  else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values))
    for (const std::int64_t integer : *integers) list.append(integer);
  return list;
}

nb::dict parse(const nb::bytes& record, nb::handle limits) {
  const auto bytes = std::span(static_cast<const std::byte*>(record.data()), record.size());
  nb::dict features;
  for (const auto& [name, values] : tf::read_example(bytes, to_limits(limits)))
    features[text_of(name)] = list_of(values);
  return features;
}

} // namespace

void register_records(nb::module_& module) {
  nb::class_<PyRecordReader>(module, "RecordReader", "The records of one TFRecord file, in order.")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("file").none(), nb::kw_only(),
           nb::arg("limits") = nb::none(),
           nb::sig("def __init__(self, file: object, *, limits: collections.abc.Mapping[str, float | str] | "
                   "None = None) -> "
                   "None"))
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> RecordReader"))
      .def("__next__", &PyRecordReader::next, nb::sig("def __next__(self) -> bytes"));
  module.def("parse_example", &parse, nb::arg("record"), nb::kw_only(), nb::arg("limits") = nb::none(),
             nb::sig("def parse_example(record: bytes, *, limits: collections.abc.Mapping[str, float | str] "
                     "| None = None) "
                     "-> dict[str, list[bytes] | list[float] | list[int]]"),
             "The features of a serialised tf.Example by name: lists of bytes, floats or integers. Raises "
             "BadData.\n\nrecord: the message\nlimits: as in lanner.build");
}

} // namespace lanner::python
