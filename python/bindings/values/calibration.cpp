// Calibration tables.

#include <lanner/calibration.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/options.h"

namespace lanner::python {
namespace {

constexpr std::string_view expected_range = "a TensorRange, or (least, most)";

double number(std::string_view name, nb::handle value) {
  return to_value<double>(name, value, "a number");
}

TensorRange make_range(nb::handle least, nb::handle most, nb::handle threshold, nb::handle calibrator) {
  TensorRange range = symmetric_range(number("least", least), number("most", most));
  if (!threshold.is_none()) range.threshold = number("threshold", threshold);
  range.calibrator = parse_calibrator(to_value<std::string>("calibrator", calibrator, "a name"));
  check_range(range);
  return range;
}

TensorRange to_range(const std::string& name, nb::handle value) {
  if (nb::isinstance<TensorRange>(value)) return nb::cast<TensorRange>(value);
  const std::string option = fmt::format("range of {}", name);
  const auto pair = to_value<std::pair<double, double>>(option, value, expected_range);
  return with_context([&] { return option; }, [&] { return symmetric_range(pair.first, pair.second); });
}

CalibrationTable make_table(nb::handle ranges) {
  CalibrationTable table;
  if (ranges.is_none()) return table;
  for (const auto& [key, borrowed] : to_dict("ranges", ranges, "a dict from name to TensorRange")) {
    const nb::object value = nb::borrow(borrowed); // converting it calls code that may change the dict
    const auto name = to_value<std::string>("ranges", key, "names that are str");
    check(!name.empty(), ErrorCode::invalid_argument, "ranges: '' is no name of a tensor");
    table.ranges[name] = to_range(name, value);
  }
  return table;
}

nb::dict ranges_of(const CalibrationTable& table) {
  nb::dict result;
  for (const auto& [name, range] : table.ranges) result[text_of(name)] = range;
  return result;
}

std::string line_of(const TensorRange& range) {
  return fmt::format("TensorRange({}, {}, threshold={}, calibrator='{}')", range.least, range.most,
                     range.threshold, calibrator_name(range.calibrator));
}

void register_range(nb::module_& module) {
  nb::class_<TensorRange>(module, "TensorRange",
                          "Range of the values of one tensor, and the threshold by which INT8 stores them.")
      .def(
          "__init__",
          [](TensorRange* self, nb::handle least, nb::handle most, nb::handle threshold,
             nb::handle calibrator) {
            new (self) TensorRange(make_range(least, most, threshold, calibrator));
          },
          nb::arg("least"), nb::arg("most"), nb::kw_only(), nb::arg("threshold") = nb::none(),
          nb::arg("calibrator") = "minmax",
          nb::sig("def __init__(self, least: float, most: float, *, threshold: float | None = None, "
                  "calibrator: str = 'minmax') -> None"),
          "A range of one's own.\n\nleast: the least value\nmost: the largest value\nthreshold: magnitude "
          "that the largest "
          "stored number stands for; default: the larger magnitude of least and most\ncalibrator: which gave "
          "the threshold: auto, entropy, entropy2, minmax, percentile or legacy")
      .def_ro("least", &TensorRange::least, "The least value that was seen, or given.")
      .def_ro("most", &TensorRange::most, "The largest value that was seen, or given.")
      .def_ro("threshold", &TensorRange::threshold,
              "Magnitude that the largest stored number stands for; larger ones are stored as it.")
      .def_prop_ro(
          "calibrator", [](const TensorRange& self) { return text_of(calibrator_name(self.calibrator)); },
          "Name of the calibrator that gave the threshold.")
      .def_prop_ro("has_negative", &TensorRange::has_negative,
                   "Whether values can be negative: these are stored as int8, others as uint8.")
      .def(
          "__eq__", [](const TensorRange& a, const TensorRange& b) { return a == b; }, nb::arg("other"),
          nb::is_operator(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__repr__", [](const TensorRange& self) { return text_of(line_of(self)); });
}

void register_reading(nb::class_<CalibrationTable>& table) {
  table
      .def_static(
          "load",
          [](nb::handle path) {
            const std::string name = path_of(path);
            ReleasedGil release;
            return CalibrationTable::load(name);
          },
          nb::arg("path"), nb::sig("def load(path: str | os.PathLike[str]) -> CalibrationTable"),
          "Reads a table, or a calibration cache of TensorRT. Raises NotFound, BadData, LimitExceeded.\n\n"
          "path: file to read")
      .def_static(
          "parse",
          [](nb::handle text) {
            if (!nb::isinstance<nb::str>(text) && !nb::isinstance<nb::bytes>(text))
              refuse("text", text, "is of the wrong type", "str or bytes");
            const std::string content = bytes_of(text, "surrogateescape");
            ReleasedGil release;
            return CalibrationTable::parse(content);
          },
          nb::arg("text"), nb::sig("def parse(text: str | bytes) -> CalibrationTable"),
          "The same from a text. Raises BadData with the line and what was expected.\n\n"
          "text: content of such a file");
}

void register_table(nb::module_& module) {
  nb::class_<CalibrationTable> table(
      module, "CalibrationTable",
      "Ranges by name of a value of the model: the result of a calibration for INT8, the same on every "
      "device. It does not change; for one with other ranges make another: CalibrationTable({**table.ranges, "
      "\"x\": (-1, 1)}).");
  table.def(
      "__init__",
      [](CalibrationTable* self, nb::handle ranges) { new (self) CalibrationTable(make_table(ranges)); },
      nb::arg("ranges") = nb::none(),
      nb::sig("def __init__(self, ranges: collections.abc.Mapping[str, TensorRange | tuple[float, float]] | "
              "None = None) -> None"),
      "A table of these ranges.\n\nranges: dict from name to TensorRange, or to (least, most)");
  register_reading(table);
  table
      .def(
          "save",
          [](const CalibrationTable& self, nb::handle path) {
            const std::string name = path_of(path);
            ReleasedGil release;
            self.save(name);
          },
          nb::arg("path"), nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Writes the table's text to a file, which appears when it is complete.\n\npath: file to write")
      .def_prop_ro("ranges", &ranges_of, nb::sig("def ranges(self) -> dict[str, TensorRange]"),
                   "The ranges by name, a copy.")
      .def("__len__", [](const CalibrationTable& self) { return self.ranges.size(); })
      .def(
          "__eq__", [](const CalibrationTable& a, const CalibrationTable& b) { return a == b; },
          nb::arg("other"), nb::is_operator(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__str__", [](const CalibrationTable& self) { return text_of(self.to_string()); })
      .def("__repr__", [](const CalibrationTable& self) {
        return text_of(fmt::format("CalibrationTable of {} ranges", self.ranges.size()));
      });
}

} // namespace

void register_calibration(nb::module_& module) {
  register_range(module);
  register_table(module);
}

} // namespace lanner::python
