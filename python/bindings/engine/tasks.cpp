// lanner.tasks: the meaning of a network's outputs.

#include <memory>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/decoder.h>
#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/result_writer.h>
#include <lanner/task.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "engine/engine.h"
#include "engine/notebook.h"
#include "engine/tasks.h"
#include "video/sole_object.h"

namespace lanner::python {

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
  fail(ErrorCode::invalid_argument,
       "tasks: the task none has no results for pictures; expected another task");
}

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

namespace {

nb::object or_none(const Tensor& tensor) {
  return tensor.defined() ? nb::cast(tensor) : nb::none();
}

/// The only preprocessing that the engine knows.
Preprocess only_preprocess(const Engine& engine) {
  std::optional<Preprocess> only;
  for (const Binding& input : engine.inputs())
    if (const auto spec = engine.preprocess(input.name)) {
      check(!only, ErrorCode::invalid_argument,
            "tasks: several inputs of the engine are pictures; give preprocess= of the one to use");
      only = spec;
    }
  check(only.has_value(), ErrorCode::invalid_argument,
        "tasks: the engine has no preprocessing; give the preprocess= of its pictures");
  return *only;
}

/// Waits for pending writes of a framework to its tensor on a GPU: CUDA's default stream runs after them, and
/// a copy on it is waited for.
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
    const Preprocess spec = preprocess.is_none()
                                ? only_preprocess(engine.get())
                                : to_value<Preprocess>("preprocess", preprocess, "a lanner.Preprocess");
    const ResolvedTask resolved = resolve_task(engine.get(), to_task(task), spec);
    reason_ = resolved.reason;
    reader_ = std::make_shared<const TaskReader>(resolved.task, engine.get(), spec);
  }

  nb::object read(const nb::dict& outputs, nb::handle picture, std::int64_t element) const {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, value] : outputs) {
      // no head has sequences or strings
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
    PyResult result{{}, task()};
    {
      const ReleasedGil released;
      result.result = reader_->read(tensors, size[1], size[0], element);
    }
    return typed(std::move(result));
  }

  const std::string& reason() const { return reason_; }
  const std::shared_ptr<const TaskReader>& get() const { return reader_; }
  std::shared_ptr<const Task> task() const { return {reader_, &reader_->task()}; }

private:
  std::shared_ptr<const TaskReader> reader_;
  std::string reason_;
};

Image draw(nb::handle image, const PyResult& result, std::optional<float> opacity, bool labels,
           float line_width) {
  const Image picture = to_picture(image);
  const ReleasedGil released;
  return draw_result(picture, result.result, *result.task, {opacity, labels, line_width});
}

std::string result_text(const PyResult& self) {
  return result_json({"", true, 0, {}}, self.result, *self.task);
}

std::vector<std::string> names_of(const PyResult& self) {
  std::vector<std::string> names;
  if (!self.result.labels.defined()) return names;
  for (const std::int64_t number : self.result.labels.as<std::int64_t>())
    names.push_back(class_label(*self.task, number));
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

/// A results file for `with`: it appears at the end of the block, and not after an error.
class PyWriter : public SoleObject<ResultWriter> {
public:
  PyWriter(nb::handle path, const std::string& format, const PyReader& reader)
      : SoleObject(
            std::make_unique<ResultWriter>(path_of(path), parse_result_format(format), reader.get()->task()),
            "ResultWriter", "it is closed") {}

  void write(const PyResult& result, nb::handle source, std::optional<std::int64_t> frame,
             std::optional<double> pts) {
    const ImageSource picture{path_of(source), !frame.has_value(), frame.value_or(0), pts};
    with([&](ResultWriter& writer) { writer.write(picture, result.result); });
  }
  void finish() {
    const ReleasedGil released;
    call([&](std::unique_ptr<ResultWriter>& writer) {
      check(writer != nullptr, ErrorCode::invalid_argument, "ResultWriter: it is closed");
      writer->finish();
      writer.reset();
    });
  }
  void leave(bool failed) {
    if (!failed && !closed()) return finish();
    close();
  }
};

void register_result(nb::module_& module) {
  nb::class_<PyResult>(module, "Result", "What a network found in one picture; the base of all results.")
      .def_prop_ro(
          "task", [](const PyResult& self) { return std::string(to_string(self.result.kind)); },
          "Kind of the task, such as `detect`.")
      .def_prop_ro(
          "size",
          [](const PyResult& self) {
            return std::array{self.result.height, self.result.width};
          },
          "Height and width of the picture in pixels.")
      .def_prop_ro(
          "region",
          [](const PyResult& self) -> std::optional<std::array<std::int32_t, 4>> {
            const PixelRect& region = self.result.region;
            if (region.whole()) return std::nullopt;
            return std::array{region.x, region.y, region.width, region.height};
          },
          "For a crop: left, top, width and height, in pixels, of the region of the picture that the second "
          "network saw; else None.")
      .def(
          "_repr_html_", [](const PyResult& self) { return result_html(self.result, *self.task); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("to_json", &result_text, "One line of JSON, as `lanner run --json` writes it; docs/results.md.");
}

void register_classification(nb::module_& module) {
  nb::class_<PyClassification, PyResult>(
      module, "Classification", "The best classes of a picture, best first; as many as the task's top.")
      .def_prop_ro(
          "labels", [](const PyClassification& self) { return or_none(self.result.labels); },
          nb::sig("def labels(self) -> Tensor"), "int64 [K]: class numbers.")
      .def_prop_ro(
          "scores", [](const PyClassification& self) { return or_none(self.result.scores); },
          nb::sig("def scores(self) -> Tensor"), "float32 [K]: probabilities.")
      .def_prop_ro(
          "names", [](const PyClassification& self) { return names_of(self); },
          "Class names; `class 7` if unknown.")
      .def("__len__", [](const PyClassification& self) { return self.result.count(); })
      .def("__repr__", [](const PyClassification& self) { return describe("Classification", self); });
}

void register_detections(nb::module_& module) {
  nb::class_<PyDetections, PyResult>(
      module, "Detections",
      "Boxes in a picture, best first, with masks, key points or rotated boxes if the task has them.")
      .def_prop_ro(
          "boxes", [](const PyDetections& self) { return or_none(self.result.boxes); },
          nb::sig("def boxes(self) -> Tensor"),
          "float32 [K, 4]: left, top, right, bottom edges in pixels of the picture.")
      .def_prop_ro(
          "scores", [](const PyDetections& self) { return or_none(self.result.scores); },
          nb::sig("def scores(self) -> Tensor"), "float32 [K]: confidence of each box, 0 to 1.")
      .def_prop_ro(
          "labels", [](const PyDetections& self) { return or_none(self.result.labels); },
          nb::sig("def labels(self) -> Tensor"), "int64 [K]: class numbers.")
      .def_prop_ro(
          "names", [](const PyDetections& self) { return names_of(self); },
          "Class names; `class 7` if unknown.")
      .def_prop_ro(
          "rotated", [](const PyDetections& self) { return or_none(self.result.rotated); },
          nb::sig("def rotated(self) -> Tensor | None"),
          "float32 [K, 5]: centre x, y, width, height in pixels, angle in radians, clockwise; None unless "
          "the task is obb.")
      .def_prop_ro(
          "keypoints", [](const PyDetections& self) { return or_none(self.result.keypoints); },
          nb::sig("def keypoints(self) -> Tensor | None"),
          "float32 [K, P, 3]: x and y in pixels, confidence; None unless the task is pose.")
      .def_prop_ro(
          "masks",
          [](const PyDetections& self) -> nb::object {
            if (self.result.kind != TaskKind::segment) return nb::none();
            return nb::cast(self.result.full_masks());
          },
          nb::sig("def masks(self) -> Tensor | None"),
          "uint8 [K, height, width]: 1 inside of the object; None unless the task is segment. Computed at "
          "each use.")
      .def_prop_ro(
          "crops",
          [](const PyDetections& self) {
            nb::list crops;
            for (const TaskResult& crop : self.result.crops)
              crops.append(typed({crop, self.result.crop_task}));
            return crops;
          },
          nb::sig("def crops(self) -> list[Any]"),
          "Results of a second network for each box, which a CropRunner fills in; empty before. A box that "
          "was left out has an empty result with region None.")
      .def("__len__", [](const PyDetections& self) { return self.result.count(); })
      .def("__repr__", [](const PyDetections& self) { return describe("Detections", self); });
}

void register_semantic_map(nb::module_& module) {
  nb::class_<PySemanticMap, PyResult>(module, "SemanticMap", "A class for each pixel.")
      .def_prop_ro(
          "classes", [](const PySemanticMap& self) { return nb::cast(self.result.classes); },
          nb::sig("def classes(self) -> Tensor"),
          "int32 [height, width]: class numbers; -1 for pixels that the network did not see.")
      .def_prop_ro(
          "class_names", [](const PySemanticMap& self) { return self.task->labels; },
          "Class names by number; empty if unknown.")
      .def("__repr__", [](const PySemanticMap& self) {
        return fmt::format("lanner.tasks.SemanticMap({}x{})", self.result.width, self.result.height);
      });
}

void register_depth_map(nb::module_& module) {
  nb::class_<PyDepthMap, PyResult>(module, "DepthMap", "Depth, or inverse depth, for each pixel.")
      .def_prop_ro(
          "depth", [](const PyDepthMap& self) { return nb::cast(self.result.depth); },
          nb::sig("def depth(self) -> Tensor"),
          "float32 [height, width], in the network's units; NaN for pixels that it did not see.")
      .def("__repr__", [](const PyDepthMap& self) {
        return fmt::format("lanner.tasks.DepthMap({}x{})", self.result.width, self.result.height);
      });
}

void register_picture(nb::module_& module) {
  nb::class_<PyPicture, PyResult>(module, "Picture", "A picture that a network made.")
      .def_prop_ro(
          "image",
          [](const PyPicture& self) {
            check(self.result.image.defined(), ErrorCode::invalid_argument,
                  "image: there is none, the network did not run on this box");
            return self.result.image;
          },
          "The picture, rgb24, in the network's own size.")
      .def("__repr__", [](const PyPicture& self) {
        return fmt::format("lanner.tasks.Picture({}x{})", self.result.image.width, self.result.image.height);
      });
}

void register_embedding(nb::module_& module) {
  nb::class_<PyEmbedding, PyResult>(module, "Embedding", "A vector of features.")
      .def_prop_ro(
          "embedding", [](const PyEmbedding& self) { return nb::cast(self.result.embedding); },
          nb::sig("def embedding(self) -> Tensor"), "float32 [D].")
      .def("__repr__", [](const PyEmbedding& self) {
        return fmt::format("lanner.tasks.Embedding({})", self.result.embedding.elements());
      });
}

void register_results(nb::module_& module) {
  register_result(module);
  register_classification(module);
  register_detections(module);
  register_semantic_map(module);
  register_depth_map(module);
  register_picture(module);
  register_embedding(module);
}

void register_task_reader(nb::module_& module) {
  nb::class_<PyReader>(module, "TaskReader",
                       "Turns an engine's outputs into typed results; docs/tasks.md. Threads may share one.")
      .def(nb::init<const PyEngine&, nb::handle, nb::handle>(), nb::arg("engine"),
           nb::arg("task") = nb::none(), nb::arg("preprocess") = nb::none(),
           nb::sig(
               "def __init__(self, engine: Engine, task: str | dict[str, object] | None = None, preprocess: "
               "Preprocess | None = None) -> None"),
           "Determines what the outputs mean. Raises InvalidArgument, with the candidates, if that is "
           "ambiguous.\n\nengine: the engine whose outputs are read\ntask: a kind like \"detect\", JSON or a "
           "dict of "
           "the fields in docs/tasks.md; unset fields are found in the engine's metadata and "
           "outputs\npreprocess: the preprocessing of pictures, with which boxes and maps are mapped back; "
           "default: the engine's")
      .def("__call__", &PyReader::read, nb::arg("outputs"), nb::arg("picture"), nb::arg("element") = 0,
           nb::sig("def __call__(self, outputs: Mapping[str, object], picture: Image | Frame | tuple[int, "
                   "int], element: "
                   "int = 0) -> Any"),
           "Returns a Classification, Detections, SemanticMap, DepthMap, Picture or Embedding, depending on "
           "the task.\n\noutputs: the engine's outputs: dict from output name to tensor or array\npicture: "
           "the "
           "image or frame that was run, or its (height, width)\nelement: index of the picture in the batch")
      .def_prop_ro(
          "task", [](const PyReader& self) { return task_dict(self.get()->task()); },
          nb::sig("def task(self) -> dict[str, Any]"),
          "The complete task, as a dict of the fields in docs/tasks.md.")
      .def_prop_ro("reason", &PyReader::reason,
                   "One line: what the outputs mean and how that was determined.")
      .def(
          "label", [](const PyReader& self, std::int64_t number) { return self.get()->label(number); },
          nb::arg("number"),
          "Name of a class; `class 7` if unknown.\n\nnumber: class number, as in "
          "Detections.labels");
}

void register_result_writer(nb::module_& module) {
  nb::class_<PyWriter>(module, "ResultWriter",
                       "Writes results to a file that other programs read; docs/results.md. Use it in a "
                       "`with` statement: the file appears at the end of the block, and not after an error.")
      .def(nb::init<nb::handle, const std::string&, const PyReader&>(), nb::arg("path"), nb::arg("format"),
           nb::arg("reader"),
           nb::sig(
               "def __init__(self, path: str | os.PathLike[str], format: str, reader: TaskReader) -> None"),
           "Opens the output.\n\npath: file to write; for yolo a folder\nformat: \"json\", \"csv\", \"coco\" "
           "or \"yolo\"\nreader: whose results are written")
      .def("write", &PyWriter::write, nb::arg("result"), nb::arg("source") = "picture",
           nb::arg("frame") = nb::none(), nb::arg("pts") = nb::none(),
           nb::sig("def write(self, result: Result, source: str | os.PathLike[str] = 'picture', frame: int | "
                   "None = None, "
                   "pts: float | None = None) -> None"),
           "Appends one result.\n\nresult: of the reader\nsource: file of the picture or clip\nframe: number "
           "of the frame in a clip; None for a picture\npts: time of the frame in seconds")
      .def("finish", &PyWriter::finish, "Completes the file and renames it to its path.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> ResultWriter"))
      .def(
          "__exit__",
          [](PyWriter& self, nb::handle type, nb::handle, nb::handle) { self.leave(!type.is_none()); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"));
}

void register_functions(nb::module_& module) {
  module.def(
      "draw_result", &draw, nb::arg("image"), nb::arg("result"), nb::arg("opacity") = nb::none(),
      nb::arg("labels") = true, nb::arg("line_width") = 0.f,
      nb::sig("def draw_result(image: Image | Frame, result: Result, opacity: float | None = None, "
              "labels: bool = "
              "True, line_width: float = 0) -> Image"),
      "Draws a result: boxes, masks, key points, maps or class names over a copy of the picture, as "
      "rgb24.\n\nimage: picture that the result is of\nresult: any result but an Embedding\nopacity: "
      "opacity of masks and maps, 0 to 1; default: depends on the task\nlabels: whether names and scores are "
      "written\nline_width: in pixels; 0: depends on the size of the picture");
  module.def(
      "crop_box",
      [](nb::handle image, const PyDetections& result, std::int64_t i) {
        return crop_box(to_picture(image), result.result, i);
      },
      nb::arg("image"), nb::arg("result"), nb::arg("i"),
      nb::sig("def crop_box(image: Image | Frame, result: Detections, i: int) -> Image"),
      "Cuts out the part of the picture that a box covers.\n\nimage: picture that the result is of\nresult: "
      "its boxes\ni: number of the box");
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
      "Non-maximum suppression: indices of the boxes that are kept, best first; for equal scores in their "
      "order.\n\nboxes: float32 [K, 4]: left, top, right, bottom; or [K, 5] rotated: centre x, y, width, "
      "height, angle in radians\nscores: float32 [K]\nlabels: int64 [K]: classes, within which boxes "
      "suppress each other; None: all boxes do\niou_threshold: of two boxes whose intersection over union is "
      "greater, the better one is kept\nmax_kept: most boxes that are kept; 0: all");
}

} // namespace

void register_tasks(nb::module_& module) {
  register_results(module);
  register_crop_runner(module);
  register_task_reader(module);
  register_result_writer(module);
  register_functions(module);
}

} // namespace lanner::python
