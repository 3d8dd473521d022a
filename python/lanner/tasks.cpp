// What a network's outputs mean: lanner.tasks.

#include <memory>

#include <fmt/format.h>

#include <lanner/decoder.h>
#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/result_writer.h>
#include <lanner/task.h>

#include "bindings.h"
#include "check.h"
#include "engine.h"

namespace lanner::python {
namespace {

/// One picture's result; the task says what its numbers mean.
struct PyResult {
  TaskResult result;
  std::shared_ptr<const TaskReader> reader;

  const Task& task() const { return reader->task(); }
};
struct PyClassification : PyResult {};
struct PyDetections : PyResult {};
struct PySemanticMap : PyResult {};
struct PyDepthMap : PyResult {};
struct PyPicture : PyResult {};
struct PyEmbedding : PyResult {};

nb::object or_none(const Tensor& tensor) {
  return tensor.defined() ? nb::cast(tensor) : nb::none();
}

nb::object typed(PyResult result) {
  switch (result.result.kind) {
  case TaskKind::classify:
    return nb::cast(PyClassification{std::move(result)});
  case TaskKind::detect:
  case TaskKind::segment:
  case TaskKind::pose:
  case TaskKind::obb:
    return nb::cast(PyDetections{std::move(result)});
  case TaskKind::semantic:
    return nb::cast(PySemanticMap{std::move(result)});
  case TaskKind::depth:
    return nb::cast(PyDepthMap{std::move(result)});
  case TaskKind::image:
    return nb::cast(PyPicture{std::move(result)});
  case TaskKind::embed:
    return nb::cast(PyEmbedding{std::move(result)});
  case TaskKind::none:
    break;
  }
  fail(ErrorCode::invalid_argument, "tasks: the task none says nothing of a picture; expected another task");
}

/// A task of None, a word, JSON or a dict.
Task to_task(nb::handle given) {
  if (given.is_none()) return {};
  if (nb::isinstance<nb::str>(given)) return Task::from_json(nb::cast<std::string>(given));
  const nb::object json = nb::module_::import_("json");
  return with_option_named(
      "task", given, [&] { return Task::from_json(nb::cast<std::string>(json.attr("dumps")(given))); },
      "a kind like \"detect\", JSON or a dict of Task's fields");
}

nb::object task_dict(const Task& task) {
  return nb::module_::import_("json").attr("loads")(task.to_json());
}

Image to_picture(nb::handle object) {
  if (nb::isinstance<Frame>(object)) return nb::cast<const Frame&>(object).image;
  return to_value<Image>("image", object, "a lanner.Image or a lanner.Frame");
}

/// The only preprocessing that the engine knows.
Preprocess only_preprocess(const Engine& engine) {
  std::optional<Preprocess> only;
  for (const Binding& input : engine.inputs())
    if (const auto spec = engine.preprocess(input.name)) {
      check(!only, ErrorCode::invalid_argument,
            "tasks: several inputs of the engine are pictures; give preprocess=, that of the one meant");
      only = spec;
    }
  check(
      only.has_value(), ErrorCode::invalid_argument,
      "tasks: the engine says nothing of preprocessing; give preprocess=, with which its pictures are made");
  return *only;
}

/// Waits for what a framework still writes to a tensor of its own on a GPU: CUDA's default stream is behind
/// it, and a copy there is waited for.
void settle(const Tensor& tensor) {
  if (tensor.device().is_host() || tensor.elements() == 0) return;
  const ReleasedGil released;
  static_cast<void>(
      Tensor::wrap(const_cast<void*>(tensor.data()), DType::u8, {1}, tensor.owner(), {}, tensor.device())
          .to(Device{}));
}

/// A reader of one engine's outputs.
class PyReader {
public:
  PyReader(const PyEngine& engine, nb::handle task, nb::handle preprocess) {
    const ResolvedTask resolved = resolve_task(engine.get(), to_task(task));
    reason_ = resolved.reason;
    const Preprocess spec = preprocess.is_none()
                                ? only_preprocess(engine.get())
                                : to_value<Preprocess>("preprocess", preprocess, "a lanner.Preprocess");
    reader_ = std::make_shared<const TaskReader>(resolved.task, engine.get(), spec);
  }

  nb::object read(const nb::dict& outputs, nb::handle picture, std::int64_t element) const {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, value] : outputs) {
      // Sequences and strings are no part of any head.
      if (nb::isinstance<nb::list>(value)) continue;
      Tensor& tensor = tensors[nb::cast<std::string>(name)] = to_tensor(value);
      if (!nb::isinstance<Tensor>(value)) settle(tensor);
    }
    std::array<std::int32_t, 2> size{};
    if (nb::isinstance<nb::tuple>(picture)) {
      size =
          to_value<std::array<std::int32_t, 2>>("picture", picture, "an image, a frame or (height, width)");
    } else {
      const Image image = to_picture(picture);
      size = {image.height, image.width};
    }
    PyResult result{{}, reader_};
    {
      const ReleasedGil released;
      result.result = reader_->read(tensors, size[1], size[0], element);
    }
    return typed(std::move(result));
  }

  const std::string& reason() const { return reason_; }
  const std::shared_ptr<const TaskReader>& get() const { return reader_; }

private:
  std::shared_ptr<const TaskReader> reader_;
  std::string reason_;
};

Image draw(nb::handle image, const PyResult& result, std::optional<float> opacity, bool labels,
           float line_width) {
  const Image picture = to_picture(image);
  const ReleasedGil released;
  return draw_result(picture, result.result, result.task(), {opacity, labels, line_width});
}

std::string result_text(const PyResult& self) {
  return result_json({"", true, 0, {}}, self.result, self.task());
}

std::vector<std::string> names_of(const PyResult& self) {
  std::vector<std::string> names;
  if (!self.result.labels.defined()) return names;
  for (const std::int64_t number : self.result.labels.as<std::int64_t>())
    names.push_back(self.reader->label(number));
  return names;
}

std::string describe(const char* name, const PyResult& self) {
  std::string found;
  const std::vector<std::string> names = names_of(self);
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i)
    found += fmt::format("{}{} {:.2f}", i > 0 ? ", " : "", names[i], self.result.scores.as<float>()[i]);
  if (names.size() > shown) found += ", ...";
  return fmt::format("lanner.tasks.{}({}{})", name,
                     names.empty() ? std::string() : fmt::format("{}: ", names.size()), found);
}

/// A file of results, by with: it has its name at the end of the block, and is none after an error.
class PyWriter {
public:
  PyWriter(nb::handle path, const std::string& format, const PyReader& reader)
      : writer_(std::in_place, path_of(path), parse_result_format(format), reader.get()->task()) {}

  void write(const PyResult& result, nb::handle source, std::optional<std::int64_t> frame,
             std::optional<double> pts) {
    check(writer_.has_value(), ErrorCode::invalid_argument, "ResultWriter: is closed");
    const PictureSource picture{path_of(source), !frame.has_value(), frame.value_or(0), pts};
    const ReleasedGil released;
    writer_->write(picture, result.result);
  }
  void finish() {
    check(writer_.has_value(), ErrorCode::invalid_argument, "ResultWriter: is closed");
    writer_->finish();
    writer_.reset();
  }
  void leave(bool failed) {
    if (!failed && writer_) return finish();
    writer_.reset();
  }

private:
  std::optional<ResultWriter> writer_;
};

void register_results(nb::module_& module) {
  nb::class_<PyResult>(module, "Result", "What a network said of one picture.")
      .def_prop_ro(
          "task", [](const PyResult& self) { return std::string(to_string(self.result.kind)); },
          "The kind of task: `detect`.")
      .def_prop_ro(
          "size",
          [](const PyResult& self) {
            return std::array{self.result.height, self.result.width};
          },
          "Height and width of the picture.")
      .def("to_json", &result_text, "One line, as `lanner run --json` writes it; docs/results.md.");
  nb::class_<PyClassification, PyResult>(module, "Classification", "Classes of a picture, best first.")
      .def_prop_ro(
          "labels", [](const PyClassification& self) { return or_none(self.result.labels); },
          "i64 [K]: numbers of classes.")
      .def_prop_ro(
          "scores", [](const PyClassification& self) { return or_none(self.result.scores); },
          "f32 [K]: probabilities.")
      .def_prop_ro(
          "names", [](const PyClassification& self) { return names_of(self); }, "Names of the classes.")
      .def("__len__", [](const PyClassification& self) { return self.result.count(); })
      .def("__repr__", [](const PyClassification& self) { return describe("Classification", self); });
  nb::class_<PyDetections, PyResult>(
      module, "Detections",
      "Boxes in a picture, best first, with masks, key points or turned boxes where the network gives them.")
      .def_prop_ro(
          "boxes", [](const PyDetections& self) { return or_none(self.result.boxes); },
          "f32 [K, 4]: left, top, right, bottom in pixels of the picture, as edges.")
      .def_prop_ro(
          "scores", [](const PyDetections& self) { return or_none(self.result.scores); }, "f32 [K].")
      .def_prop_ro(
          "labels", [](const PyDetections& self) { return or_none(self.result.labels); },
          "i64 [K]: numbers of classes.")
      .def_prop_ro(
          "names", [](const PyDetections& self) { return names_of(self); }, "Names of the classes.")
      .def_prop_ro(
          "rotated", [](const PyDetections& self) { return or_none(self.result.rotated); },
          "f32 [K, 5]: centre x, y, width, height, angle in radians, clockwise; None where boxes are not "
          "turned.")
      .def_prop_ro(
          "keypoints", [](const PyDetections& self) { return or_none(self.result.keypoints); },
          "f32 [K, P, 3]: x, y, confidence; None where there are none.")
      .def_prop_ro(
          "masks",
          [](const PyDetections& self) -> nb::object {
            if (self.result.kind != TaskKind::segment) return nb::none();
            return nb::cast(self.result.full_masks());
          },
          "u8 [K, height, width], 1 inside; None where there are none. Made anew at each call.")
      .def("__len__", [](const PyDetections& self) { return self.result.count(); })
      .def("__repr__", [](const PyDetections& self) { return describe("Detections", self); });
  nb::class_<PySemanticMap, PyResult>(module, "SemanticMap", "A class for each pixel.")
      .def_prop_ro(
          "classes", [](const PySemanticMap& self) { return nb::cast(self.result.classes); },
          "i32 [height, width]; -1 where the network did not see the picture.")
      .def_prop_ro(
          "class_names", [](const PySemanticMap& self) { return self.task().labels; },
          "Names of the classes, by number; empty where they are not known.")
      .def("__repr__", [](const PySemanticMap& self) {
        return fmt::format("lanner.tasks.SemanticMap({}x{})", self.result.width, self.result.height);
      });
  nb::class_<PyDepthMap, PyResult>(module, "DepthMap", "A distance, or its inverse, for each pixel.")
      .def_prop_ro(
          "depth", [](const PyDepthMap& self) { return nb::cast(self.result.depth); },
          "f32 [height, width], as the network says it; NaN where it did not see the picture.")
      .def("__repr__", [](const PyDepthMap& self) {
        return fmt::format("lanner.tasks.DepthMap({}x{})", self.result.width, self.result.height);
      });
  nb::class_<PyPicture, PyResult>(module, "Picture", "A picture that a network made.")
      .def_prop_ro(
          "image", [](const PyPicture& self) { return self.result.image; },
          "The picture, rgb24, of a size of its own.")
      .def("__repr__", [](const PyPicture& self) {
        return fmt::format("lanner.tasks.Picture({}x{})", self.result.image.width, self.result.image.height);
      });
  nb::class_<PyEmbedding, PyResult>(module, "Embedding", "A vector of features.")
      .def_prop_ro(
          "embedding", [](const PyEmbedding& self) { return nb::cast(self.result.embedding); }, "f32 [D].")
      .def("__repr__", [](const PyEmbedding& self) {
        return fmt::format("lanner.tasks.Embedding({})", self.result.embedding.elements());
      });
}

} // namespace

void register_tasks(nb::module_& module) {
  register_results(module);
  nb::class_<PyReader>(module, "TaskReader",
                       "Reads answers out of an engine's outputs. Threads may share one.")
      .def(nb::init<const PyEngine&, nb::handle, nb::handle>(), nb::arg("engine"),
           nb::arg("task") = nb::none(), nb::arg("preprocess") = nb::none(),
           nb::sig(
               "def __init__(self, engine: Engine, task: str | dict[str, object] | None = None, preprocess: "
               "Preprocess | None = None) -> None"),
           "`task` is a kind (`detect`), JSON or a dict of the fields of docs/tasks.md; what it leaves open "
           "is found in "
           "the engine's metadata and outputs. `preprocess` is that with which pictures become the input "
           "(default: the "
           "engine's own), so what boxes and maps are turned back by.")
      .def("__call__", &PyReader::read, nb::arg("outputs"), nb::arg("picture"), nb::arg("element") = 0,
           nb::sig("def __call__(self, outputs: Mapping[str, object], picture: Image | Frame | tuple[int, "
                   "int], element: "
                   "int = 0) -> Any"),
           "The result for one picture, or a picture of (height, width). `element` is its place in the "
           "batch. Gives a "
           "Classification, Detections, SemanticMap, DepthMap, Picture or Embedding.")
      .def_prop_ro(
          "task", [](const PyReader& self) { return task_dict(self.get()->task()); },
          nb::sig("def task(self) -> dict[str, Any]"), "The task with all that was found.")
      .def_prop_ro("reason", &PyReader::reason, "In a line, what the outputs mean and how that was found.")
      .def(
          "label", [](const PyReader& self, std::int64_t number) { return self.get()->label(number); },
          nb::arg("number"), "The name of a class.");
  nb::class_<PyWriter>(module, "ResultWriter", "Results as a file that other programs read: docs/results.md.")
      .def(nb::init<nb::handle, const std::string&, const PyReader&>(), nb::arg("path"), nb::arg("format"),
           nb::arg("reader"),
           nb::sig(
               "def __init__(self, path: str | os.PathLike[str], format: str, reader: TaskReader) -> None"),
           "`format`: json, csv, coco, or yolo, for which `path` is a folder.")
      .def("write", &PyWriter::write, nb::arg("result"), nb::arg("source") = "picture",
           nb::arg("frame") = nb::none(), nb::arg("pts") = nb::none(),
           nb::sig("def write(self, result: Result, source: str | os.PathLike[str] = 'picture', frame: int | "
                   "None = None, "
                   "pts: float | None = None) -> None"),
           "`source` is the picture's or clip's file, `frame` its number in a clip.")
      .def("finish", &PyWriter::finish, "Gives the file its name.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> ResultWriter"))
      .def(
          "__exit__",
          [](PyWriter& self, nb::handle type, nb::handle, nb::handle) { self.leave(!type.is_none()); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"));
  module.def("draw_result", &draw, nb::arg("image"), nb::arg("result"), nb::arg("opacity") = nb::none(),
             nb::arg("labels") = true, nb::arg("line_width") = 0.f,
             nb::sig("def draw_result(image: Image | Frame, result: Result, opacity: float | None = None, "
                     "labels: bool = "
                     "True, line_width: float = 0) -> Image"),
             "The picture (rgb24) with the result on it.");
  module.def(
      "crop_box",
      [](nb::handle image, const PyDetections& result, std::int64_t i) {
        return crop_box(to_picture(image), result.result, i);
      },
      nb::arg("image"), nb::arg("result"), nb::arg("i"),
      nb::sig("def crop_box(image: Image | Frame, result: Detections, i: int) -> Image"),
      "The part of the picture that box `i` covers.");
  module.def(
      "suppress_boxes",
      [](nb::handle boxes, nb::handle scores, nb::handle labels, float iou_threshold, std::int64_t max_kept) {
        const auto settled = [](nb::handle given) {
          Tensor tensor = to_tensor(given);
          if (!nb::isinstance<Tensor>(given)) settle(tensor);
          return tensor;
        };
        const Tensor all = settled(boxes), of = settled(scores),
                     numbers = labels.is_none() ? Tensor() : settled(labels);
        return suppress_boxes(all, of, numbers, iou_threshold, max_kept);
      },
      nb::arg("boxes"), nb::arg("scores"), nb::arg("labels") = nb::none(), nb::arg("iou_threshold") = 0.45f,
      nb::arg("max_kept") = 0,
      nb::sig("def suppress_boxes(boxes: object, scores: object, labels: object = None, iou_threshold: float "
              "= 0.45, "
              "max_kept: int = 0) -> list[int]"),
      "Numbers of the boxes that stay, best first, of those that overlap by more than `iou_threshold` of "
      "their union "
      "(within a class where labels are given). `boxes` f32 [K, 4], or [K, 5] turned.");
}

} // namespace lanner::python
