// lanner.build and lanner.load.

#include <lanner/error.h>

#include "calls/option_rows.h"
#include "calls/warnings.h"
#include "engine/engine.h"

namespace lanner::python {
namespace {

/// Keywords of the table of builds, and additional ones for torch modules.
std::span<const Keyword> build_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> list = keywords_of(build_option_table(), true);
    list.push_back(Keyword{"dynamic_shapes", "object"}.of(
        "for a torch module only: as torch.export.export takes them; docs/pytorch.md"));
    return list;
  }();
  return keywords;
}

std::span<const Keyword> load_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(load_option_table(), true);
  return keywords;
}

PyEngine build(nb::handle model, const nb::args& others, const nb::kwargs& keywords) {
  check_named("build", others, "precision=\"fp16\"");
  BuildOptions options;
  nb::object progress = nb::none();
  take_keywords("build", keywords, build_keywords(), build_option_table(), options,
                [&](const std::string& name, nb::handle value) {
                  if (name == "dynamic_shapes") // lanner.build() in Python takes it for those modules
                    fail_type(
                        fmt::format("dynamic_shapes: expected for a torch.nn.Module alone, got it for a {}",
                                    nb::cast<std::string>(model.type().attr("__name__"))));
                  if (PyCallable_Check(value.ptr()) == 0) throw std::bad_cast();
                  progress = nb::borrow(value);
                });
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  const SourcePtr source = to_source(model, options.limits);
  const std::string folder = folder_of(model);
  GatheredWarnings warnings;
  PyEngine engine(interruptible.run([&] { return Engine::build(source, options, folder); }));
  warnings.give();
  return engine;
}

PyEngine load(nb::handle plan, const nb::args& others, const nb::kwargs& keywords) {
  check_named("load", others, "threads=2");
  LoadOptions options;
  take_keywords("load", keywords, load_keywords(), load_option_table(), options);
  Interruptible interruptible;
  options.control = interruptible.control();
  const SourcePtr source = to_source(plan, options.limits);
  GatheredWarnings warnings;
  PyEngine engine(interruptible.run([&] { return Engine::load(source, options); }));
  warnings.give();
  return engine;
}

std::string build_docs() {
  return "Imports, optimises and tunes a model. Warnings of the build are Python warnings of the category "
         "RuntimeWarning.\n\n"
         "model: path, bytes or an onnx.ModelProto, of ONNX, TensorFlow (a frozen GraphDef in binary or "
         "text) "
         "or Caffe; or a torch.nn.Module, a torch.export.ExportedProgram or a keras.Model\n"
         "example_inputs: for a torch module only: the inputs of its forward, as a tensor, a tuple, or a "
         "dict by name\n" +
         keyword_docs(build_keywords()) +
         "\n\nRaises BadData for a malformed model, Unsupported for what Lanner cannot run, NotFound for a "
         "missing file, InvalidArgument for options that do not fit the model, LimitExceeded beyond a limit.";
}

} // namespace

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
