// lanner.tf: TensorFlow models converted in whole or in part.

#include <filesystem>
#include <mutex>

#include <lanner/error.h>
#include <lanner/model_folder.h>
#include <lanner/tensorflow.h>

#include "calls/option_rows.h"
#include "calls/options.h"
#include "calls/warnings.h"
#include "engine/build_options.h"
#include "engine/converted_files.h"
#include "engine/engine.h"

namespace lanner::python {
namespace {

/// A model with runners that idle between calls, as an Engine has contexts.
class PyModel : public tf::Model {
public:
  explicit PyModel(tf::Model model) : tf::Model(std::move(model)), pool_(std::make_shared<Pool>()) {}

  std::map<std::string, Item> call(const std::map<std::string, Item>& inputs, const Control& control) const {
    tf::Runner runner = take();
    std::map<std::string, Item> results = runner(inputs, control);
    const std::scoped_lock lock(pool_->mutex);
    pool_->idle.push_back(std::move(runner));
    return results;
  }

private:
  struct Pool {
    std::mutex mutex;
    std::vector<tf::Runner> idle;
  };

  tf::Runner take() const {
    const std::scoped_lock lock(pool_->mutex);
    if (pool_->idle.empty()) return create_runner();
    tf::Runner runner = std::move(pool_->idle.back());
    pool_->idle.pop_back();
    return runner;
  }

  std::shared_ptr<Pool> pool_;
};

/// Keywords of conversions: those of builds, and how the model is divided.
std::span<const Keyword> convert_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> list(build_keywords().begin(), build_keywords().end());
    std::erase_if(list, [](const Keyword& keyword) {
      return keyword.name == "dynamic_shapes" || keyword.name == "images" || keyword.name == "states" ||
             keyword.name == "aliases" || keyword.name == "storages" || keyword.name == "profiles" ||
             keyword.name == "overwritable";
    });
    for (Keyword& keyword : keywords_of(tf::convert_option_table(), true)) list.push_back(std::move(keyword));
    return list;
  }();
  return keywords;
}

tf::ConvertOptions convert_options(const char* function, const nb::kwargs& given, nb::object& progress) {
  tf::ConvertOptions options;
  nb::dict rest, kept; // of builds, and of conversions
  for (const auto& [name, value] : given) {
    const auto* row = find_option(tf::convert_option_table(), nb::cast<std::string>(name));
    if (!row)
      rest[name] = value;
    else
      kept[name] = value;
  }
  take_keywords(function, nb::kwargs(nb::cast<nb::kwargs>(kept)),
                keywords_of(tf::convert_option_table(), true), tf::convert_option_table(), options);
  take_build_options(function, nb::kwargs(nb::cast<nb::kwargs>(rest)), convert_keywords(), options.build,
                     progress);
  return options;
}

/// `make(options)`, with the options of the keywords; `example`: one of them, for errors.
template<typename Make>
PyModel made(const char* function, const char* example, const nb::args& others, const nb::kwargs& given,
             Make make) {
  check_named(function, others, example);
  nb::object progress = nb::none();
  GatheredWarnings warnings;
  tf::ConvertOptions options = convert_options(function, given, progress);
  Interruptible interruptible(std::move(progress));
  options.build.control = interruptible.control();
  tf::Model model = make(interruptible, options);
  warnings.give();
  return PyModel(std::move(model));
}

/// As ConvertOptions::run_in_tensorflow, in this process.
std::vector<CalibrationBatch> run_in_tensorflow(const std::filesystem::path& folder,
                                                const CalibrationData& data, const Control& control) {
  nb::gil_scoped_acquire gil;
  const nb::object run =
      nb::module_::import_("lanner._tf_calibration").attr("Loaded")(text_of(folder.string()));
  std::vector<CalibrationBatch> results;
  const auto next = [&] {
    ReleasedGil release;
    control.report({"calibrate: TensorFlow", static_cast<double>(results.size()), 0, "batches"});
    control.cancel.check();
    return data(results.empty());
  };
  for (auto batch = next(); batch; batch = next()) {
    nb::dict inputs;
    for (const auto& [name, item] : *batch) inputs[text_of(name)] = from_item(item);
    results.push_back(batch_of(run(results.size(), inputs)));
  }
  return results;
}

/// Where this Python has TensorFlow, which knows the operators of the user's that the program loaded.
tf::TensorFlowRun tensorflow_here() {
  const auto installed =
      nb::cast<bool>(nb::module_::import_("lanner._tf_calibration").attr("is_installed")());
  return installed ? run_in_tensorflow : tf::TensorFlowRun();
}

PyModel convert(nb::handle model, const nb::args& others, const nb::kwargs& given) {
  return made("convert", "precision=\"fp16\"", others, given,
              [&](Interruptible& interruptible, tf::ConvertOptions& options) {
                options.run_in_tensorflow = tensorflow_here();
                const SourcePtr source = to_source(model, options.build.limits);
                const std::string folder = folder_of(model);
                return interruptible.run([&] { return tf::Model::convert(source, options, folder); });
              });
}

PyModel load(nb::handle folder, const nb::args& others, const nb::kwargs& given) {
  return made("load", "threads=2", others, given,
              [&](Interruptible& interruptible, const tf::ConvertOptions& options) {
                const std::string path = path_of(folder);
                return interruptible.run([&] { return tf::Model::load(path, options); });
              });
}

std::map<std::string, Item> items_of(nb::handle inputs) {
  std::map<std::string, Item> items;
  for (const auto& [name, value] : to_dict("inputs", inputs, "a dict from input name to array"))
    items.emplace(to_value<std::string>("inputs", name, "names"), to_item(value, false));
  return items;
}

nb::dict run(const PyModel& model, nb::handle inputs) {
  const std::map<std::string, Item> items = items_of(inputs);
  Interruptible interruptible;
  const Control control = interruptible.control();
  GatheredWarnings warnings; // a part that runs natively says so once
  std::map<std::string, Item> results = interruptible.run([&] { return model.call(items, control); });
  warnings.give();
  nb::dict outputs;
  for (auto& [name, item] : results) outputs[nb::str(name.c_str(), name.size())] = from_item(item);
  return outputs;
}

/// One dict of inputs, or several.
void build_ahead(const PyModel& model, nb::handle inputs) {
  std::vector<std::map<std::string, Item>> all;
  if (nb::isinstance<nb::list>(inputs) || nb::isinstance<nb::tuple>(inputs))
    for (const nb::dict& each : to_dicts("inputs", inputs, "dicts from input name to array"))
      all.push_back(items_of(each));
  else
    all.push_back(items_of(inputs));
  Interruptible interruptible;
  const Control control = interruptible.control();
  GatheredWarnings warnings;
  interruptible.run([&] { model.build(all, control); });
  warnings.give();
}

void save(const PyModel& model, nb::handle folder, bool engines) {
  const std::string path = path_of(folder);
  Interruptible interruptible;
  interruptible.run([&] { model.save(path, engines); });
}

nb::list nodes_of(const PyModel& model) {
  nb::list nodes;
  for (const tf::ConvertedNode& node : model.nodes()) {
    nb::dict made;
    made["name"] = text_of(node.name);
    made["op"] = text_of(node.op);
    made["engine"] = node.engine.empty() ? nb::none() : nb::object(text_of(node.engine));
    made["code"] = text_of(node.code);
    made["reason"] = text_of(node.reason);
    nodes.append(made);
  }
  return nodes;
}

nb::list parts_of(const PyModel& model) {
  nb::list parts;
  for (const tf::ConvertedPart& part : model.parts()) {
    nb::dict made;
    made["name"] = text_of(part.name);
    made["engine"] = part.engine;
    made["nodes"] = part.nodes;
    made["build_seconds"] = part.build_seconds;
    made["inputs"] = nb::cast(part.inputs);
    made["outputs"] = nb::cast(part.outputs);
    parts.append(made);
  }
  return parts;
}

nb::dict cached_dict(const tf::CachedEngine& engine) {
  nb::dict made, shapes;
  for (const auto& [input, range] : engine.shapes) {
    nb::dict one;
    one["min"] = nb::tuple(nb::cast(range.min.dims()));
    one["opt"] = nb::tuple(nb::cast(range.opt.dims()));
    one["max"] = nb::tuple(nb::cast(range.max.dims()));
    shapes[nb::str(input.c_str(), input.size())] = one;
  }
  made["shapes"] = shapes;
  made["build_seconds"] = engine.build_seconds;
  made["bytes"] = engine.bytes;
  return made;
}

nb::list engines_of(const PyModel& model) {
  nb::list engines;
  for (const tf::EngineCounters& counters : model.counters()) {
    nb::dict made, native;
    nb::list cached;
    for (const tf::CachedEngine& engine : counters.cached) cached.append(cached_dict(engine));
    for (const auto& [cause, runs] : counters.native) native[text_of(to_string(cause))] = runs;
    made["name"] = text_of(counters.engine);
    made["maximum"] = counters.maximum;
    made["built"] = counters.built;
    made["hits"] = counters.hits;
    made["evicted"] = counters.evicted;
    made["native"] = native;
    made["build_error"] = text_of(counters.build_error);
    made["weight_bytes"] = counters.weight_bytes;
    made["cached"] = cached;
    engines.append(made);
  }
  return engines;
}

/// Files of a model besides its SavedModel.
void register_files(nb::class_<PyModel>& type) {
  type.def(
          "save_plan", [](const PyModel& self, nb::handle path) { save_plan(self, path); },
          nb::arg("path").none(), nb::sig("def save_plan(self, path: str | os.PathLike[str]) -> None"),
          "Builds a plan of the whole model with the options of the conversion. Raises Unsupported, with the "
          "native nodes, where it is not one engine.\n\npath: file to write")
      .def(
          "save_onnx", [](const PyModel& self, nb::handle path) { save_onnx(self, path); },
          nb::arg("path").none(), nb::sig("def save_onnx(self, path: str | os.PathLike[str]) -> None"),
          "Writes the model as ONNX. Raises Unsupported, with the operator, where ONNX has no "
          "counterpart.\n\npath: file to write")
      .def(
          "write_events", [](const PyModel& self, nb::handle folder) { write_events(self, folder); },
          nb::arg("folder").none(), nb::sig("def write_events(self, folder: str | os.PathLike[str]) -> None"),
          "Writes event files for TensorBoard, of the graph before and after the conversion.\n\nfolder: "
          "where `before` and `after` are made");
}

/// What stays native.
void register_natives(nb::class_<PyModel>& type) {
  type.def(
          "native_line", [](const PyModel& self) { return text_of(self.native_line()); },
          nb::sig("def native_line(self) -> str"),
          "TF-TRT's line of native nodes: There are 5 ops of 4 different types in the graph that are not "
          "converted to TensorRT: ...")
      .def(
          "native_csv", [](const PyModel& self) { return text_of(self.native_csv()); },
          nb::sig("def native_csv(self) -> str"), "TF-TRT's table of native nodes: OP Name|Reason|Count.")
      .def_prop_ro(
          "needs_tensorflow", [](const PyModel& self) { return text_of(self.needs_tensorflow()); },
          nb::sig("def needs_tensorflow(self) -> str"),
          "Nodes that only TensorFlow can run, by operator, with the reason; empty: the model runs here. A "
          "model that has some is saved, and runs inside TensorFlow: lanner.tf.register().");
}

void register_model(nb::module_& module) {
  nb::class_<PyModel> type(module, "ConvertedModel",
                           "A TensorFlow model, parts of which are engines. lanner.tf.convert and "
                           "lanner.tf.load make it. Threads may call it at the same time.");
  register_files(type);
  register_natives(type);
  type.def("__call__", &run, nb::arg("inputs").none(),
           nb::sig("def __call__(self, inputs: collections.abc.Mapping[str, object]) -> dict[str, Tensor]"),
           "Runs the model: a dict from output name to Tensor.\n\ninputs: dict from input name to array")
      .def(
          "build", &build_ahead, nb::arg("inputs").none(),
          nb::sig("def build(self, inputs: collections.abc.Mapping[str, object] | "
                  "collections.abc.Sequence[collections.abc.Mapping[str, object]]) -> None"),
          "Builds the engines for the shapes of these inputs, so that later runs at these shapes are fast; "
          "with profiles, engines for the profiles of all of them.\n\ninputs: dict from input name to array, "
          "or a list of them\n\nRaises InvalidArgument in static mode.")
      .def("save", &save, nb::arg("folder").none(), nb::kw_only(), nb::arg("engines") = true,
           nb::sig("def save(self, folder: str | os.PathLike[str], *, engines: bool = True) -> None"),
           "Writes a SavedModel in which engines are TRTEngineOp nodes.\n\nfolder: where to write\nengines: "
           "also write plans of the engines that were built and not evicted, which lanner.tf.load takes on "
           "the "
           "same kind of machine")
      .def(
          "summary", [](const PyModel& self) { return text_of(self.summary()); },
          nb::sig("def summary(self) -> str"),
          "What was converted: engines, and native nodes by operator and reason.")
      .def_prop_ro(
          "inputs", [](const PyModel& self) { return self.inputs(); },
          nb::sig("def inputs(self) -> list[Binding]"), "Inputs, by the signature's names.")
      .def_prop_ro(
          "outputs", [](const PyModel& self) { return self.outputs(); },
          nb::sig("def outputs(self) -> list[Binding]"), "Outputs, by the signature's names.")
      .def_prop_ro("nodes", &nodes_of, nb::sig("def nodes(self) -> list[dict[str, object]]"),
                   "Nodes of the model, functions inlined: name, op, engine (None: native), code and reason "
                   "why it is native.")
      .def_prop_ro("parts", &parts_of, nb::sig("def parts(self) -> list[dict[str, object]]"),
                   "Engines and groups of native nodes in the order in which they run: name, engine, nodes, "
                   "inputs, outputs, build_seconds.")
      .def_prop_ro(
          "engines", &engines_of, nb::sig("def engines(self) -> list[dict[str, object]]"),
          "What the cache of each engine part holds and did: name, maximum, built, hits, evicted, native "
          "(runs "
          "by cause), build_error, weight_bytes, and cached: the engines, the most recently used first, with "
          "shapes (min, opt and max by input), build_seconds and bytes.")
      .def_prop_ro(
          "share", [](const PyModel& self) { return self.share(); }, nb::sig("def share(self) -> float"),
          "Share of nodes in engines, 0 to 1; placeholders, constants, Identity and NoOp do not "
          "count.")
      .def("__repr__", [](const PyModel& self) {
        return text_of(fmt::format("<lanner.ConvertedModel, {} parts, {:.1f} % of the nodes in engines>",
                                   self.parts().size(), 100 * self.share()));
      });
}

} // namespace

void register_converted(nb::module_& module) {
  register_model(module);
  module.def(
      "tf_convert", &convert, nb::arg("model").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def tf_convert(model: object", convert_keywords(), "ConvertedModel").c_str()),
      ("Converts a TensorFlow model, in whole or in part. A node that cannot be converted costs itself "
       "only.\n\nmodel: folder of a SavedModel, frozen GraphDef or MetaGraph: a path, bytes, or an "
       "object with SerializeToString\n" +
       keyword_docs(convert_keywords()))
          .c_str());
  module.def(
      "tf_load", &load, nb::arg("folder").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def tf_load(folder: str | os.PathLike[str]", convert_keywords(), "ConvertedModel")
                  .c_str()),
      ("Loads a model that ConvertedModel.save or TF-TRT wrote. Engines of TensorRT are built anew "
       "from their native segments.\n\nfolder: folder of the SavedModel\n" +
       keyword_docs(convert_keywords()))
          .c_str());
}

} // namespace lanner::python
