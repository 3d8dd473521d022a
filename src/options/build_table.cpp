// Options of builds.

#include <algorithm>
#include <cmath>

#include <lanner/doctor.h>

#include "options/calibration_rows.h"
#include "options/common_rows.h"

namespace lanner {
namespace {

using C = lanner_build_options;
using Table = OptionTable<BuildOptions>;

constexpr std::string_view for_developers = "for developers of the passes";

/// `auto`, or the engine's device and further ones.
void set_devices(BuildOptions& options, const std::string& text) {
  const std::vector<Device> set = text == "auto" ? std::vector{automatic_device()} : parse_devices(text);
  options.device = set.front();
  options.placement.devices.assign(set.begin() + 1, set.end());
}

std::string devices_of(const BuildOptions& options) {
  std::vector<Device> set{options.device};
  set.insert(set.end(), options.placement.devices.begin(), options.placement.devices.end());
  return devices_text(set);
}

void set_types(BuildOptions& options, const std::string& text) {
  options.precision.types = Precision::parse(text).types;
}

void add_pins(BuildOptions& options, const NamedTexts& pins) {
  for (const auto& [pattern, type] : pins)
    options.precision.pins.push_back({pattern, parse_precision_type(type)});
}

NamedTexts pins_of(const BuildOptions& options) {
  NamedTexts pins;
  for (const auto& [pattern, type] : options.precision.pins)
    pins.emplace_back(pattern, std::string(precision_name(type)));
  return pins;
}

void add_placed(BuildOptions& options, const NamedTexts& placed) {
  for (const auto& [pattern, device] : placed)
    options.placement.nodes.push_back({pattern, Device::parse(device)});
}

NamedTexts placed_of(const BuildOptions& options) {
  NamedTexts placed;
  for (const auto& [pattern, device] : options.placement.nodes)
    placed.emplace_back(pattern, device.to_string());
  return placed;
}

void add_shapes(BuildOptions& options, const NamedShapes& shapes) {
  for (const auto& [input, range] : shapes) add_once(options.shapes, input, range, "input");
}

void add_storages(BuildOptions& options, const NamedTexts& storages) {
  for (const auto& [name, text] : storages)
    add_once(options.storages, name, BindingStorage::parse(text), "name");
}

/// Inverse of BindingStorage::parse.
std::string storage_text(const BindingStorage& storage) {
  std::string text = storage.layout;
  if (storage.dtype) text += fmt::format(":{}", to_string(*storage.dtype));
  if (storage.row_pitch > 0) text += fmt::format(":pitch={}", storage.row_pitch);
  return text;
}

NamedTexts storages_of(const BuildOptions& options) {
  NamedTexts storages;
  for (const auto& [name, storage] : options.storages) storages.emplace_back(name, storage_text(storage));
  return storages;
}

void add_metadata(BuildOptions& options, const NamedTexts& metadata) {
  for (const auto& [key, text] : metadata) add_once(options.metadata, key, text, "key");
}

OptionValue profiles_in(const C& given) {
  if (given.profile_count == 0) return {};
  const Limits limits = limits_in(given);
  std::vector<NamedShapes> profiles;
  for (const lanner_profile& profile : array_of(given.profiles, given.profile_count, "profiles"))
    profiles.push_back(shapes_in(profile.shapes, profile.shape_count, limits));
  return profiles;
}

OptionValue preprocess_in(const C& given) {
  if (given.preprocess_count == 0) return {};
  std::map<std::string, Preprocess> specs;
  for (const lanner_input_preprocess& one : array_of(given.preprocess, given.preprocess_count, "preprocess"))
    add_once(specs, &not_null(one.input, "input of preprocess"),
             parse_preprocess(&not_null(one.preprocess, "preprocess of preprocess")), "input");
  return specs;
}

OptionValue images_in(const C& given) {
  if (given.image_count == 0) return {};
  std::map<std::string, ImageInputOptions> pictures;
  for (const lanner_image_input& one : array_of(given.images, given.image_count, "images")) {
    ImageInputOptions picture;
    if (one.format) picture.format = parse_pixel_format(one.format);
    picture.preprocess = parse_preprocess(&not_null(one.preprocess, "preprocess of images"));
    add_once(pictures, &not_null(one.input, "input of images"), picture, "input");
  }
  return pictures;
}

OptionValue budget_in(const C& given) {
  check(std::isfinite(given.budget), ErrorCode::invalid_argument, "budget is {}: expected seconds",
        given.budget);
  return given.budget == 0 ? OptionValue() : OptionValue(std::max(given.budget, 0.0));
}

/// Precision, placement and choice of kernels.
void add_kernel_rows(Table& table) {
  table.push_back(row<std::string, BuildOptions>(
      {.name = "precision",
       .help = "types that kernels may compute in: fp32, fp16, bf16, int8",
       .details = "fp32 is always allowed, unless strict; int8 needs calibration data or ranges",
       .example = "fp16,fp32",
       .flag = "--precision",
       .metavar = "TYPES",
       .choices = {"fp32", "fp16", "bf16", "int8"},
       .torch_compile = true,
       .kind = OptionKind::words},
      [](const BuildOptions& options) { return options.precision.types_text(); }, set_types,
      field("precision", &C::precision)));
  table.push_back(row<NamedTexts, BuildOptions>({.name = "pins",
                                                 .help = "compute nodes of this name in this type",
                                                 .details = "in a name * matches any characters, ? one",
                                                 .example = "/head/*=fp32",
                                                 .flag = "--pin",
                                                 .metavar = "NODE=TYPE",
                                                 .last_equals = true},
                                                pins_of, add_pins,
                                                pairs_field("pins", &C::pins, &C::pin_count,
                                                            {"pattern", &lanner_precision_pin::pattern},
                                                            {"type", &lanner_precision_pin::type})));
  table.push_back(row<bool, BuildOptions>(
      {.name = "strict",
       .help = "fail if no kernel computes a node in the requested precision or on the requested device",
       .flag = "--strict",
       .torch_compile = true},
      [](const BuildOptions& options) { return options.precision.strict && options.placement.strict; },
      [](BuildOptions& options, bool strict) {
        options.precision.strict = options.placement.strict = strict;
      },
      flag_field("strict", &C::strict)));
  table.push_back(row({.name = "exact",
                       .help = "exclude kernels that use another formula and so round differently",
                       .details = "these are Winograd and TF32",
                       .flag = "--exact",
                       .second_network = true,
                       .torch_compile = true},
                      &BuildOptions::precision, &Precision::exact, flag_field("exact", &C::exact)));
}

/// Shapes and profiles.
void add_shape_rows(Table& table) {
  table.push_back(row<NamedShapes, BuildOptions>(
      {.name = "shapes",
       .help = "shape of an input, or the range of shapes that the engine accepts",
       .details = "kernels are tuned for the opt shape; sizes that neither the model nor this option fixes "
                  "stay open, and kernels for them are chosen by estimates at the first run of each",
       .example = "x:1x3x224x224",
       .flag = "--shape",
       .metavar = "INPUT:SHAPE"},
      [](const BuildOptions& options) { return options.shapes; }, add_shapes, shapes_field<C>()));
  table.push_back(
      row({.name = "profiles",
           .help = "ranges of shapes to prepare for",
           .details = "the opt shapes of each are tuned, other shapes in a range use the same kernels, "
                      "and shapes outside of all ranges run too; for an input that takes images give "
                      "their number",
           .example = "x=1x3x8x8:2x3x8x8:4x3x8x8",
           .flag = "--profile",
           .metavar = "INPUT=MIN:OPT:MAX",
           .use = OptionUse::profiles},
          &BuildOptions::profiles, field<C>("profiles", profiles_in)));
}

/// Threads, tuning, devices.
void add_choice_rows(Table& table) {
  table.push_back(
      row({.name = "threads",
           .help = "threads of each context",
           .unset = "all cores that the process may use, or the number of LANNER_THREADS or set_threads()",
           .flag = "--threads",
           .most = 4096,
           .second_network = true,
           .torch_compile = true},
          &BuildOptions::threads, field("threads", &C::threads)));
  table.push_back(row({.name = "budget",
                       .help = "time that timing and checking kernels may take",
                       .details = "with 0 kernels are chosen by estimates and checked for at most 2 s",
                       .example = "30s",
                       .flag = "--budget",
                       .second_network = true,
                       .torch_compile = true,
                       .kind = OptionKind::seconds},
                      &BuildOptions::budget, field<C>("budget", budget_in)));
  table.push_back(row<std::string, BuildOptions>(
      {.name = "device",
       .help = "where the network runs: cpu, cuda:0, or auto, the first GPU, else the CPU",
       .details = "several GPUs, like cuda:0,cuda:1, are for placement, and the first one holds inputs and "
                  "outputs",
       .example = "cuda:0",
       .standard = "auto",
       .flag = "--device",
       .metavar = "NAME",
       .choices = {"auto", "cpu", "cuda:0"},
       .second_network = true,
       .kind = OptionKind::words},
      devices_of, set_devices, field("device", &C::device)));
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "placement",
       .help = "run nodes of this name on this device",
       .details = "in a name * matches any characters, ? one; docs/devices.md",
       .example = "layer4*=cuda:1",
       .flag = "--place",
       .metavar = "NODE=DEVICE",
       .last_equals = true},
      placed_of, add_placed,
      pairs_field("placed", &C::placed, &C::placed_count, {"pattern", &lanner_placed_nodes::pattern},
                  {"device", &lanner_placed_nodes::device})));
  table.push_back(row({.name = "deterministic",
                       .help = "time nothing, so that the same model gives the same plan, byte for byte",
                       .flag = "--deterministic",
                       .second_network = true,
                       .torch_compile = true},
                      &BuildOptions::deterministic, flag_field("deterministic", &C::deterministic)));
  table.push_back(row({.name = "retune",
                       .help = "time kernels anew instead of reusing timings of earlier builds",
                       .flag = "--retune",
                       .second_network = true,
                       .torch_compile = true},
                      &BuildOptions::retune, flag_field("retune", &C::retune)));
  table.push_back(tune_at_run_row<BuildOptions>(true));
}

/// Inputs that take pictures.
void add_picture_rows(Table& table) {
  table.push_back(
      row({.name = "preprocess",
           .help = "how images given to an input become tensors",
           .details = "the element type, and sizes that are not set, are those of the input",
           .unset = "the model's metadata lanner.preprocess, else the preprocessing of a known model family",
           .no_flag = "`--preset`, `--size` and others set it for the image input"},
          &BuildOptions::preprocess, field<C>("preprocess", preprocess_in)));
  table.push_back(
      row({.name = "images",
           .help = "inputs that take images of any size, which a kernel on the engine's device converts "
                   "as part of the run",
           .details = "docs/images.md",
           .no_flag = "`--image-input` sets it for the image input"},
          &BuildOptions::images, field<C>("images", images_in)));
}

/// States and aliases.
void add_caller_rows(Table& table) {
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "states",
       .help = "keep the output of a run as this input of the next one",
       .details = "docs/state.md",
       .example = "past=present",
       .flag = "--state",
       .metavar = "INPUT=OUTPUT",
       .use = OptionUse::callers},
      [](const BuildOptions& options) {
        NamedTexts pairs;
        for (const auto& [input, output] : options.states) pairs.emplace_back(input, output);
        return pairs;
      },
      [](BuildOptions& options, const NamedTexts& pairs) {
        for (const auto& [input, output] : pairs) options.states.push_back({input, output});
      },
      pairs_field("states", &C::states, &C::state_count, {"input", &lanner_pair::input},
                  {"output", &lanner_pair::output})));
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "aliases",
       .help = "write the output into the memory of the input",
       .example = "y=x",
       .flag = "--alias",
       .metavar = "OUTPUT=INPUT",
       .use = OptionUse::callers},
      [](const BuildOptions& options) {
        NamedTexts pairs;
        for (const auto& [output, input] : options.aliases) pairs.emplace_back(output, input);
        return pairs;
      },
      [](BuildOptions& options, const NamedTexts& pairs) {
        for (const auto& [output, input] : pairs) options.aliases.push_back({output, input});
      },
      pairs_field("aliases", &C::aliases, &C::alias_count, {"output", &lanner_pair::output},
                  {"input", &lanner_pair::input})));
}

/// How TensorFlow models are read.
void add_tensorflow_rows(Table& table) {
  table.push_back(row({.name = "signature",
                       .help = "signature of a TensorFlow SavedModel that becomes the network",
                       .details = "default: serving_default, or the only one",
                       .example = "serving_default",
                       .flag = "--signature",
                       .metavar = "NAME"},
                      &BuildOptions::tensorflow, &TensorFlowOptions::signature,
                      field("signature", &C::signature)));
  table.push_back(row({.name = "tags",
                       .help = "tags of the graph to read from a TensorFlow SavedModel with several",
                       .details = "default: serve, or the only graph",
                       .example = "serve",
                       .flag = "--tags",
                       .metavar = "TAG",
                       .comma_separated = true},
                      &BuildOptions::tensorflow, &TensorFlowOptions::tags,
                      texts_field("tags", &C::tags, &C::tag_count)));
  table.push_back(row({.name = "freeze_batch_norm",
                       .help = "read TensorFlow's batch normalisation in training mode as inference",
                       .details = "with its moving averages; refused otherwise",
                       .flag = "--freeze-batch-norm"},
                      &BuildOptions::tensorflow, &TensorFlowOptions::freeze_batch_norm,
                      flag_field("freeze_batch_norm", &C::freeze_batch_norm)));
}

/// Inputs, outputs and their storages.
void add_binding_rows(Table& table) {
  table.push_back(row(
      {.name = "outputs",
       .help = "names of values inside the model to output, in this order, instead of the model's outputs",
       .example = "features",
       .flag = "--outputs",
       .metavar = "NAME",
       .comma_separated = true},
      &BuildOptions::outputs, texts_field("outputs", &C::outputs, &C::output_count)));
  table.push_back(
      row({.name = "overridden",
           .help = "initialisers that the model lists among its inputs and that runs will override",
           .details = "they become inputs of the engine, with the model's value as default; "
                      "Engine.overridable lists them",
           .example = "scale",
           .flag = "--overridden",
           .metavar = "NAME",
           .comma_separated = true},
          &BuildOptions::overridden, texts_field("overridden", &C::overridden, &C::overridden_count)));
  table.push_back(row({.name = "overwritable",
                       .help = "inputs whose memory a run may overwrite",
                       .example = "x",
                       .flag = "--overwritable",
                       .metavar = "INPUT",
                       .use = OptionUse::callers},
                      &BuildOptions::overwritable,
                      texts_field("overwritable", &C::overwritable, &C::overwritable_count)));
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "storages",
       .help = "memory layout of an input or output",
       .details = "acdb is channels last, acdb:f16 the same in another type, row:u8:pitch=640 has padded "
                  "rows, and any is the cheapest layout",
       .example = "x=acdb",
       .flag = "--storage",
       .metavar = "NAME=LAYOUT",
       .use = OptionUse::callers},
      storages_of, add_storages,
      pairs_field("storages", &C::storages, &C::storage_count, {"name", &lanner_binding_storage::name},
                  {"storage", &lanner_binding_storage::storage})));
  table.push_back(row<NamedTexts, BuildOptions>(
      {.name = "metadata",
       .help = "text by key, stored in the plan with the model's own metadata",
       .details = "an equal key replaces the model's",
       .example = "author=me",
       .flag = "--metadata",
       .metavar = "KEY=VALUE",
       .use = OptionUse::build,
       .empty_texts = true},
      [](const BuildOptions& options) {
        return NamedTexts(options.metadata.begin(), options.metadata.end());
      },
      add_metadata,
      pairs_field("metadata", &C::metadata, &C::metadata_count, {"key", &lanner_metadata::key},
                  {"value", &lanner_metadata::value})));
}

/// Options of the call itself.
void add_call_rows(Table& table) {
  table.push_back(row<OptionSource, BuildOptions>(
      {.name = "weights",
       .help = "for a Caffe network in text (.prototxt): its .caffemodel",
       .flag = "--weights",
       .metavar = "FILE"},
      [](const BuildOptions& options) {
        return OptionSource{options.weights, {}};
      },
      [](BuildOptions& options, const OptionSource& given) { options.weights = given.source; },
      source_field("weights", &C::weights)));
  table.push_back(weight_budget_row<BuildOptions>());
  table.push_back(limits_row<BuildOptions>());
  table.push_back(environment_row<BuildOptions>());
  table.push_back(row({.name = "progress",
                       .help = "called with (stage, done, total) while the build runs",
                       .details = "an exception, in C any result but 0, ends the build",
                       .torch_compile = true,
                       .no_flag = "the command shows a bar"},
                      &BuildOptions::control, progress_field<C>()));
  table.push_back(row({.name = "stop_after",
                       .help = "name of the last pass to run",
                       .example = "import",
                       .flag = "--stop-after",
                       .metavar = "PASS",
                       .use = OptionUse::build,
                       .no_keyword = for_developers,
                       .no_field = for_developers},
                      &BuildOptions::stop_after));
  table.push_back(row<std::string, BuildOptions>(
      {.name = "trace_passes",
       .help = "folder to write the graph after each pass to",
       .example = "passes",
       .flag = "--trace-passes",
       .metavar = "FOLDER",
       .use = OptionUse::build,
       .no_keyword = for_developers,
       .no_field = for_developers,
       .kind = OptionKind::path},
      [](const BuildOptions& options) { return options.trace_passes.string(); },
      [](BuildOptions& options, const std::string& folder) { options.trace_passes = folder; }));
}

} // namespace

const OptionTable<BuildOptions>& build_option_table() {
  static const Table table = [] {
    Table made;
    for (const auto add :
         {add_kernel_rows, add_calibration_rows, add_shape_rows, add_choice_rows, add_picture_rows,
          add_caller_rows, add_tensorflow_rows, add_binding_rows, add_call_rows})
      add(made);
    return made;
  }();
  return table;
}

} // namespace lanner
