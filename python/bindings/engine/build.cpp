// lanner.build and lanner.load.

#include <lanner/error.h>

#include "calls/option_rows.h"
#include "calls/warnings.h"
#include "engine/build_options.h"
#include "engine/engine.h"

namespace lanner::python {
namespace {

std::vector<Keyword> all_build_keywords() {
  std::vector<Keyword> list = keywords_of(build_option_table(), true, {"calibration_data"});
  list.push_back(
      Keyword{"calibration_data",
              "str | os.PathLike[str] | collections.abc.Iterable[collections.abc.Mapping[str, object]]"}
          .of("samples of each input for precision int8, a safetensors file with a tensor for each input, "
              "whose "
              "first dim counts samples; or batches, each a dict from input name to array, which are read "
              "several "
              "times (those of a generator are kept); docs/int8.md"));
  list.push_back(Keyword{"dynamic_shapes", "object"}.of(
      "for a torch module only: as torch.export.export takes them; docs/pytorch.md"));
  return list;
}

std::span<const Keyword> load_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(load_option_table(), true);
  return keywords;
}

/// The batches of an iterator, which gives them only once.
CalibrationData kept_batches(nb::handle iterator) {
  auto batches = std::make_shared<std::vector<CalibrationBatch>>();
  for (const nb::handle batch : iterator) batches->push_back(batch_of(batch));
  return [batches, next = std::size_t{0}](bool restart) mutable -> std::optional<CalibrationBatch> {
    if (restart) next = 0;
    if (next == batches->size()) return std::nullopt;
    return (*batches)[next++];
  };
}

/// The batches of a Python iterable, which is iterated again for each pass over them.
class PythonBatches {
public:
  explicit PythonBatches(nb::object batches) : batches_(std::make_shared<Held>(std::move(batches))) {}

  std::optional<CalibrationBatch> operator()(bool restart) const {
    nb::gil_scoped_acquire gil;
    if (restart) batches_->next = nb::iter(batches_->all);
    if (batches_->next == nb::iterator::sentinel()) return std::nullopt;
    CalibrationBatch batch = batch_of(*batches_->next);
    ++batches_->next;
    return batch;
  }

private:
  /// Released with the GIL held, wherever the last copy goes.
  struct Held {
    explicit Held(nb::object batches) : all(std::move(batches)) {}
    ~Held() {
      nb::gil_scoped_acquire gil;
      next = {};
      all.reset();
    }
    nb::object all;
    nb::iterator next;
  };
  std::shared_ptr<Held> batches_;
};

/// `LEAST:MOST` of a pair of numbers; other values stay.
nb::object range_text(nb::handle range) {
  if (!nb::isinstance<nb::tuple>(range) || nb::len(range) != 2) return nb::borrow(range);
  const std::string text = fmt::format("{}:{}", nb::cast<double>(range[0]), nb::cast<double>(range[1]));
  return nb::str(text.c_str(), text.size());
}

/// Takes values that only Python has, `calibration_data` and tables, from the keywords, which are then those
/// of the table of options.
nb::kwargs take_calibration_data(const nb::kwargs& keywords, BuildOptions& options) {
  nb::dict rest;
  for (const auto& [name, value] : keywords) {
    const auto key = nb::cast<std::string>(name);
    if (key == "calibration" && nb::isinstance<CalibrationTable>(value)) {
      options.calibration.table = nb::cast<CalibrationTable>(value);
    } else if (key == "ranges" && nb::isinstance<nb::dict>(value)) {
      nb::dict texts;
      for (const auto& [node, range] : nb::cast<nb::dict>(value)) texts[node] = range_text(range);
      rest[name] = texts;
    } else if (key != "calibration_data" || value.is_none()) {
      rest[name] = value;
    } else if (nb::isinstance<nb::str>(value) || nb::hasattr(value, "__fspath__")) {
      options.calibration.data_file = path_of(value);
    } else if (nb::hasattr(value, "__next__")) {
      options.calibration.data = kept_batches(value);
    } else if (nb::hasattr(value, "__iter__") && !nb::hasattr(value, "keys")) {
      options.calibration.data = PythonBatches(nb::borrow(value));
    } else {
      fail_type("calibration_data: expected a path, or batches that are dicts from input name to array");
    }
  }
  return nb::kwargs(nb::cast<nb::kwargs>(rest));
}

PyEngine build(nb::handle model, const nb::args& others, const nb::kwargs& given) {
  check_named("build", others, "precision=\"fp16\"");
  BuildOptions options;
  nb::object progress = nb::none();
  if (given.contains("dynamic_shapes") && !given["dynamic_shapes"].is_none())
    // lanner.build() in Python takes it for those modules
    fail_type(fmt::format("dynamic_shapes: expected for a torch.nn.Module alone, got it for a {}",
                          nb::cast<std::string>(model.type().attr("__name__"))));
  GatheredWarnings warnings; // of options too: why the device auto is the CPU
  take_build_options("build", given, build_keywords(), options, progress);
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  const SourcePtr source = to_source(model, options.limits);
  const std::string folder = folder_of(model);
  PyEngine engine(interruptible.run([&] { return Engine::build(source, options, folder); }));
  warnings.give();
  return engine;
}

PyEngine load(nb::handle plan, const nb::args& others, const nb::kwargs& keywords) {
  check_named("load", others, "threads=2");
  LoadOptions options;
  GatheredWarnings warnings;
  take_keywords("load", keywords, load_keywords(), load_option_table(), options);
  Interruptible interruptible;
  options.control = interruptible.control();
  const SourcePtr source = to_source(plan, options.limits);
  PyEngine engine(interruptible.run([&] { return Engine::load(source, options); }));
  warnings.give();
  return engine;
}

std::string build_docs() {
  return "Imports, optimises and tunes a model. Warnings of the build are Python warnings of the category "
         "RuntimeWarning.\n\n"
         "model: path, bytes or an onnx.ModelProto, of ONNX, TensorFlow (the folder of a SavedModel, a "
         "frozen "
         "GraphDef, a MetaGraph) or Caffe; or a torch.nn.Module, a torch.export.ExportedProgram or a "
         "keras.Model\n"
         "example_inputs: for a torch module only: the inputs of its forward, as a tensor, a tuple, or a "
         "dict by name\n" +
         keyword_docs(build_keywords()) +
         "\n\nRaises BadData for a malformed model, Unsupported for what Lanner cannot run, NotFound for a "
         "missing file, InvalidArgument for options that do not fit the model, LimitExceeded beyond a limit.";
}

} // namespace

CalibrationBatch batch_of(nb::handle names) {
  if (!nb::hasattr(names, "items"))
    fail_type("calibration_data: expected batches that are dicts from input name to array");
  CalibrationBatch batch;
  for (const nb::handle pair : names.attr("items")()) {
    Item item = to_item(pair[1], false);
    if (item.tensor.defined()) item.tensor = item.tensor.clone();
    batch.emplace(nb::cast<std::string>(pair[0]), std::move(item));
  }
  return batch;
}

std::span<const Keyword> build_keywords() {
  static const std::vector<Keyword> keywords = all_build_keywords();
  return keywords;
}

void take_build_options(const char* function, const nb::kwargs& given, std::span<const Keyword> known,
                        BuildOptions& options, nb::object& progress) {
  const nb::kwargs keywords = take_calibration_data(given, options);
  take_keywords(function, keywords, known, build_option_table(), options,
                [&](const std::string&, nb::handle value) {
                  if (PyCallable_Check(value.ptr()) == 0) throw std::bad_cast();
                  progress = nb::borrow(value);
                });
}

void register_build(nb::module_& module) {
  module.def("build", &build, nb::arg("model").none(), nb::arg("others"), nb::arg("options"),
             nb::sig(signature("def build(model: object, example_inputs: object | None = None",
                               build_keywords(), "Engine")
                         .c_str()),
             build_docs().c_str());
  module.def(
      "load", &load, nb::arg("plan").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def load(plan: object", load_keywords(), "Engine").c_str()),
      ("Opens a plan that Engine.save or `lanner build` wrote.\n\nplan: path or bytes\n" +
       keyword_docs(load_keywords()) +
       "\n\nRaises BadData for bytes that are no plan or a damaged one, Unsupported for a plan of another "
       "version or device.")
          .c_str());
}

} // namespace lanner::python
