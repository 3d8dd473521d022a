/* Building engines, and their properties. */

#include "c_test.h"

static lanner_build_options quick_options(void) {
  lanner_build_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  return options;
}

static void check_refused_options(const char* model) {
  lanner_build_options options;
  lanner_engine* engine = NULL;
  memset(&options, 0, sizeof options);
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "struct_size is 0");
  options.struct_size = sizeof options - 3;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "struct_size");
  options.struct_size = (size_t)-1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "struct_size");
  options.struct_size = sizeof options;
  options.shape_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "shapes is null");
  options.shape_count = 0;
  options.precision = "fp3";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "fp3");
  options.precision = NULL;
  lanner_precision_pin pin = {"no such node", "fp32"};
  options.pin_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "pins is null");
  options.pins = &pin;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "no such node");
  pin.pattern = "*";
  pin.type = "fp16";
  options.strict = options.exact = 1; /* Checked when kernels are chosen, which needs known sizes. */
  const int64_t sizes[] = {1, 3, 8, 8};
  const lanner_shape_range shape = {"input", 4, sizes, NULL, NULL};
  options.shapes = &shape;
  options.shape_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_UNSUPPORTED, "strict");
  options.pins = NULL;
  options.pin_count = 0;
  lanner_placed_nodes placed = {"*", "cuda:3"};
  options.placed_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "placed is null");
  options.placed = &placed;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "placement '*=cuda:3'");
  options.placed = NULL;
  options.placed_count = 0;
  options.device = "cpu,cuda:0";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "device cuda:0 with cpu");
  options.device = NULL;
  options.strict = options.exact = 0;
  options.limits = "memory=1";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "limit memory=1");
  options.limits = "seconds=60,total_bytes=1KiB";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_LIMIT_EXCEEDED, "total_bytes of 1024");
  options.limits = NULL;
}

static void check_progress(const char* model) {
  lanner_build_options options = quick_options();
  lanner_engine* engine = NULL;
  int stop = 1;
  options.progress = count_progress;
  options.progress_user = &stop;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_CANCELLED, "");
  REQUIRE(progress_calls > 0 && engine == NULL);
  stop = 0;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  lanner_engine_destroy(engine);
}

static void check_profiles(const char* model) {
  const int64_t one[] = {1, 3, 8, 8}, four[] = {4, 3, 8, 8};
  const lanner_shape_range batches = {"input", 4, one, one, four}, other = {"other", 4, one, one, four};
  const lanner_profile profiles[] = {{&batches, 1}, {&other, 1}};
  lanner_build_options options = quick_options();
  lanner_engine* engine = NULL;
  options.profile_count = 2;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "profiles is null");
  options.profiles = profiles;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "profile 2: the model has no input 'other'");
  options.profile_count = 1;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  lanner_engine_destroy(engine);
}

/* Values inside the model in place of its outputs. */
static void check_outputs(const char* model) {
  const char* names[] = {"logits", "no such value"};
  lanner_build_options options = quick_options();
  lanner_engine* engine = NULL;
  options.output_count = 2;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "outputs is null");
  options.outputs = names;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_NOT_FOUND, "no such value");
  names[1] = "mean";
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  lanner_binding binding;
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  REQUIRE(lanner_engine_output_count(engine) == 2);
  SUCCEED(lanner_engine_output(engine, 1, &binding, &error));
  REQUIRE(strcmp(binding.name, "mean") == 0 && binding.rank == 2 && binding.dims[1] == 3);
  lanner_engine_destroy(engine);
}

/* Overridable initialisers: this model lists none among its inputs. */
static void check_overridden(const char* model) {
  const char* names[] = {"no such value"};
  lanner_build_options options = quick_options();
  lanner_engine* engine = NULL;
  lanner_binding binding;
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  options.overridden_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "overridden is null");
  options.overridden = names;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_NOT_FOUND,
         "the model has no initialiser 'no such value'");
  options.overridden_count = 0;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  REQUIRE(lanner_engine_overridable_count(engine) == 0 && lanner_engine_overridable_count(NULL) == 0);
  REFUSE(lanner_engine_overridable(engine, 0, &binding, &error), LANNER_INVALID_ARGUMENT, "the engine has 0");
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(binding.defaulted == 0);
  lanner_engine_destroy(engine);
}

static void check_metadata(const char* model) {
  lanner_metadata given[] = {{"color", "brightest channel"}, {"lanner.task", NULL}}, entry = {NULL, NULL};
  lanner_build_options options = quick_options();
  lanner_engine* engine = NULL;
  options.metadata_count = 2;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "metadata is null");
  options.metadata = given;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "value of metadata is null");
  given[1].value = "classify";
  given[0].key = "lanner.preprocess";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "option");
  given[0].key = "color";
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  REQUIRE(strcmp(lanner_engine_metadata(engine, "color"), "brightest channel") == 0);
  REQUIRE(lanner_engine_metadata_count(engine) == 2 && lanner_engine_metadata_count(NULL) == 0);
  SUCCEED(lanner_engine_metadata_entry(engine, 1, &entry, &error));
  REQUIRE(strcmp(entry.key, "lanner.task") == 0 && strcmp(entry.value, "classify") == 0);
  REFUSE(lanner_engine_metadata_entry(engine, 2, &entry, &error), LANNER_INVALID_ARGUMENT, "number 2");
  REFUSE(lanner_engine_metadata_entry(NULL, 0, &entry, &error), LANNER_INVALID_ARGUMENT, "engine is null");
  REFUSE(lanner_engine_metadata_entry(engine, 0, NULL, &error), LANNER_INVALID_ARGUMENT, "entry is null");
  SUCCEED(lanner_engine_save(engine, "metadata.plan", &error));
  lanner_engine_destroy(engine);
  SUCCEED(lanner_engine_load("metadata.plan", NULL, &engine, &error));
  REQUIRE(strcmp(lanner_engine_metadata(engine, "lanner.task"), "classify") == 0);
  lanner_engine_destroy(engine);
}

void check_options(const char* model) {
  check_refused_options(model);
  check_outputs(model);
  check_overridden(model);
  check_metadata(model);
  check_progress(model);
  check_profiles(model);
}

void check_older_and_newer_callers(const char* model) {
  struct {
    lanner_load_options known;
    int64_t newer;
  } larger;
  lanner_build_options options = quick_options();
  lanner_load_options load;
  lanner_engine* engine = NULL;
  /* A caller of an older header: its structure ends before members that this one knows. */
  options.deterministic = 1;
  options.struct_size = offsetof(lanner_build_options, shapes);
  options.shape_count = options.profile_count = 7;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  SUCCEED(lanner_engine_save(engine, "older.plan", &error));
  lanner_engine_destroy(engine);

  memset(&larger, 0, sizeof larger);
  larger.known.struct_size = sizeof larger;
  memcpy(&load, &larger.known, sizeof load);
  SUCCEED(lanner_engine_load("older.plan", &larger.known, &engine, &error));
  lanner_engine_destroy(engine);
  larger.newer = 1;
  REFUSE(lanner_engine_load("older.plan", &larger.known, &engine, &error), LANNER_UNSUPPORTED,
         "does not know");
  load.struct_size = sizeof load;
  load.reserved = 1;
  REFUSE(lanner_engine_load("older.plan", &load, &engine, &error), LANNER_UNSUPPORTED, "reserved");
}

void check_bindings(const lanner_engine* engine) {
  struct {
    lanner_binding known;
    int64_t newer;
  } larger;
  lanner_binding binding;
  memset(&binding, 0, sizeof binding);
  REQUIRE(lanner_engine_input_count(engine) == 1 && lanner_engine_output_count(engine) == 1);
  REQUIRE(lanner_engine_input_count(NULL) == 0);
  REFUSE(lanner_engine_input(engine, 0, &binding, &error), LANNER_INVALID_ARGUMENT, "struct_size");
  binding.struct_size = sizeof binding;
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.name, "input") == 0 && binding.dtype == LANNER_F32 && !binding.sequence);
  REQUIRE(binding.ranked && binding.rank == 4 && binding.dims[0] == -1 && binding.dims[1] == 3);
  REQUIRE(strcmp(binding.storage, "row") == 0 && !binding.state && !binding.overwritten);
  REFUSE(lanner_engine_output(engine, 1, &binding, &error), LANNER_INVALID_ARGUMENT, "number 1");
  REFUSE(lanner_engine_output(NULL, 0, &binding, &error), LANNER_INVALID_ARGUMENT, "engine is null");
  memset(&larger, 0xff, sizeof larger);
  larger.known.struct_size = sizeof larger;
  SUCCEED(lanner_engine_output(engine, 0, &larger.known, &error));
  REQUIRE(strcmp(larger.known.name, "logits") == 0 && larger.newer == 0);
  memset(&binding, 0, sizeof binding);
  binding.struct_size = offsetof(lanner_binding, dtype);
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(binding.name && binding.rank == 0 && binding.dims == NULL);
  REQUIRE(strcmp(lanner_engine_metadata(engine, "color"), "channel") == 0);
  REQUIRE(lanner_engine_metadata(engine, "colour") == NULL && lanner_engine_metadata(NULL, "color") == NULL);
}

/* Options on the caller's memory. */
void check_callers(const char* model) {
  const int64_t sizes[] = {1, 3, 8, 8};
  const char* overwritable[] = {"input"};
  lanner_shape_range shape;
  lanner_pair pair;
  lanner_binding_storage storage;
  lanner_build_options options;
  lanner_binding binding;
  lanner_engine* engine = NULL;
  lanner_context* context = NULL;
  DLManagedTensorVersioned* state = NULL;
  memset(&shape, 0, sizeof shape);
  shape.input = "input";
  shape.rank = 4;
  shape.min = sizes;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  options.shapes = &shape;
  options.shape_count = 1;
  options.state_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "states is null");
  pair.input = "input";
  pair.output = "logits";
  options.states = &pair;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "state: output logits");
  options.state_count = 0;
  options.aliases = &pair;
  options.alias_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "alias: output logits");
  options.alias_count = 0;
  storage.name = "input";
  storage.storage = "acdb";
  options.storages = &storage;
  options.storage_count = 1;
  options.overwritable = overwritable;
  options.overwritable_count = 1;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.storage, "acdb") == 0 && !binding.state && binding.overwritten);
  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  SUCCEED(lanner_context_bind(context, "input", batch_of(1, 2), &error));
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 2);
  SUCCEED(lanner_context_reset_states(context, &error));
  REFUSE(lanner_context_state(context, "input", &state, &error), LANNER_INVALID_ARGUMENT, "not a state");
  REFUSE(lanner_context_reset_states(NULL, &error), LANNER_INVALID_ARGUMENT, "context is null");
  lanner_context_destroy(context);
  lanner_engine_destroy(engine);
}
