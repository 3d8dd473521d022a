/* The C interface from a program in C99: c_test MODEL CLIP, in a folder of its own. The model says which of
   three channels is brightest
   (`input` f32 [N, 3, 8, 8] -> `logits` f32 [N, 3]); the clip has 12 frames of 64x48. Ends with 0 when all
   holds. One file, however long: one compiler call builds it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lanner/c.h>
#include <lanner/dlpack_structs.h>

#define REQUIRE(condition)                                                                                   \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

#define SUCCEED(call)                                                                                        \
  do {                                                                                                       \
    lanner_error* error = NULL;                                                                              \
    const lanner_status status = (call);                                                                     \
    if (status != LANNER_OK || error) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, lanner_error_message(error));            \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* The call is refused with the status, and its one line holds the text. */
#define REFUSE(call, wanted, part)                                                                           \
  do {                                                                                                       \
    lanner_error* error = NULL;                                                                              \
    const lanner_status status = (call);                                                                     \
    check_refusal(__LINE__, #call, status, error, wanted, part);                                             \
  } while (0)

static void check_refusal(int line, const char* call, lanner_status status, lanner_error* error,
                          lanner_status wanted, const char* part) {
  const char* message = lanner_error_message(error);
  if (status != wanted || lanner_error_status(error) != wanted || !strstr(message, part) ||
      strchr(message, '\n')) {
    fprintf(stderr, "%s:%d: %s: %s: '%s', expected %s with '%s'\n", __FILE__, line, call,
            lanner_status_name(status), message, lanner_status_name(wanted), part);
    exit(1);
  }
  lanner_error_destroy(error);
}

static const char* preprocess = "{\"preset\": \"none\", \"width\": 8, \"height\": 8}";

static void check_threads(void) {
  const int32_t before = lanner_default_threads();
  REQUIRE(lanner_set_threads(2, NULL) == LANNER_OK && lanner_default_threads() == 2);
  REFUSE(lanner_set_threads(-3, &error), LANNER_INVALID_ARGUMENT, "threads is -3: expected 1 to 4096");
  REQUIRE(lanner_set_threads(0, NULL) == LANNER_OK && lanner_default_threads() == before);
  lanner_executor executor = {NULL, NULL};
  REFUSE(lanner_set_executor(&executor, &error), LANNER_INVALID_ARGUMENT, "run is missing");
}

static void check_versions(void) {
  REQUIRE(lanner_c_abi_version() == LANNER_C_ABI_VERSION);
  REQUIRE(strlen(lanner_version()) >= 5);
  REQUIRE(strcmp(lanner_status_name(LANNER_OK), "ok") == 0);
  REQUIRE(strcmp(lanner_status_name(LANNER_INTERNAL), "internal") == 0);
  REQUIRE(strcmp(lanner_status_name(-1), "unknown") == 0);
  REQUIRE(strcmp(lanner_status_name(11), "unknown") == 0);
  REQUIRE(lanner_error_status(NULL) == LANNER_OK);
  REQUIRE(strcmp(lanner_error_message(NULL), "") == 0);
  lanner_error_destroy(NULL);
  lanner_engine_destroy(NULL);
  lanner_context_destroy(NULL);
  lanner_image_destroy(NULL);
  lanner_video_destroy(NULL);
}

static int progress_calls;

static int count_progress(void* user, const char* stage, double done, double total) {
  REQUIRE(stage && done >= 0 && total >= 0);
  progress_calls += 1;
  return *(const int*)user;
}

static lanner_engine* build(const char* model, int32_t threads) {
  const int64_t smallest[] = {1, 3, 8, 8}, largest[] = {4, 3, 8, 8};
  lanner_shape_range shape;
  lanner_input_preprocess picture;
  lanner_build_options options;
  lanner_engine* engine = NULL;
  memset(&shape, 0, sizeof shape);
  shape.input = "input";
  shape.rank = 4;
  shape.min = smallest;
  shape.max = largest;
  picture.input = "input";
  picture.preprocess = preprocess;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  options.threads = threads;
  options.shapes = &shape;
  options.shape_count = 1;
  options.preprocess = &picture;
  options.preprocess_count = 1;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  return engine;
}

static void check_options(const char* model) {
  struct {
    lanner_load_options known;
    int64_t newer;
  } larger;
  lanner_build_options options;
  lanner_load_options load;
  const int64_t one[] = {1, 3, 8, 8}, four[] = {4, 3, 8, 8};
  const lanner_shape_range batches = {"input", 4, one, one, four}, other = {"other", 4, one, one, four};
  const lanner_profile profiles[] = {{&batches, 1}, {&other, 1}};
  lanner_engine* engine = NULL;
  int stop = 1;
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
  options.strict = options.exact = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_UNSUPPORTED, "strict");
  options.pins = NULL;
  options.pin_count = 0;
  lanner_placed_nodes placed = {"*", "cuda:3"};
  options.placed_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "placed is null");
  options.placed = &placed;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "placement '*=cuda:3'");
  options.placed = NULL;
  options.placed_count = 0;
  options.device = "cpu,cuda:0";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "device cuda:0 beside cpu");
  options.device = NULL;
  options.strict = options.exact = 0;
  options.limits = "memory=1";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "limit memory=1");
  options.limits = "seconds=60,total_bytes=1KiB";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_LIMIT_EXCEEDED, "total_bytes of 1024");
  options.limits = NULL;
  options.progress = count_progress;
  options.progress_user = &stop;
  options.budget = -1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_CANCELLED, "");
  REQUIRE(progress_calls > 0 && engine == NULL);
  stop = 0;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  lanner_engine_destroy(engine);

  options.profile_count = 2;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "profiles is null");
  options.profiles = profiles;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "profile 2: the model has no input 'other'");
  options.profile_count = 1;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  lanner_engine_destroy(engine);
  options.profile_count = 7; /* beyond what the caller below knows */

  /* A caller of an older header: its structure ends before what this one knows. */
  options.progress = NULL;
  options.deterministic = 1;
  options.struct_size = offsetof(lanner_build_options, shapes);
  options.shape_count = 7;
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

static void check_bindings(const lanner_engine* engine) {
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

/* A batch in which `channel` of each element is the brightest. */
static DLManagedTensorVersioned* batch_of(int64_t count, int channel) {
  const int64_t shape[] = {count, 3, 8, 8};
  DLManagedTensorVersioned* tensor = NULL;
  int64_t i;
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 4, &tensor, &error));
  for (i = 0; i < count * 3 * 64; ++i)
    ((float*)tensor->dl_tensor.data)[i] = i / 64 % 3 == channel ? 1.f : 0.f;
  return tensor;
}

/* The brightest channel of the last element of `logits`. */
static int answer(lanner_context* context, int64_t count) {
  DLManagedTensorVersioned* logits = NULL;
  const float* values;
  int best = 0, i;
  SUCCEED(lanner_context_output(context, "logits", &logits, &error));
  REQUIRE(logits->version.major == 1 && logits->dl_tensor.ndim == 2);
  REQUIRE(logits->dl_tensor.shape[0] == count && logits->dl_tensor.shape[1] == 3);
  values = (const float*)logits->dl_tensor.data + (count - 1) * 3;
  for (i = 1; i < 3; ++i)
    if (values[i] > values[best]) best = i;
  logits->deleter(logits);
  return best;
}

static void check_run(const lanner_engine* engine) {
  lanner_context_options options;
  lanner_context* context = NULL;
  DLManagedTensorVersioned *memory = NULL, *kept = NULL;
  const int64_t shape[] = {1, 3};
  float first;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  SUCCEED(lanner_context_create(engine, &options, &context, &error));
  REFUSE(lanner_context_run(context, &error), LANNER_INVALID_ARGUMENT, "not bound");
  REFUSE(lanner_context_output(context, "logits", &memory, &error), LANNER_INVALID_ARGUMENT,
         "nothing has run");
  SUCCEED(lanner_context_bind(context, "input", batch_of(1, 1), &error));
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 1);
  SUCCEED(lanner_context_output(context, "logits", &kept, &error));
  first = ((float*)kept->dl_tensor.data)[1];
  SUCCEED(lanner_context_bind(context, "input", batch_of(3, 2), &error));
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 3) == 2);
  REQUIRE(((float*)kept->dl_tensor.data)[1] == first);
  SUCCEED(lanner_context_bind(context, "input", batch_of(1, 0), &error));
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 2, &memory, &error));
  SUCCEED(lanner_context_bind_output(context, "logits", memory, &error));
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(((float*)memory->dl_tensor.data)[0] == 10.f);
  SUCCEED(lanner_context_bind_output(context, "logits", NULL, &error));

  /* Tensors that are refused are taken over all the same. */
  REFUSE(lanner_context_bind(context, "inptu", batch_of(1, 0), &error), LANNER_INVALID_ARGUMENT,
         "there is input");
  REFUSE(lanner_context_bind(NULL, "input", batch_of(1, 0), &error), LANNER_INVALID_ARGUMENT,
         "context is null");
  REFUSE(lanner_context_bind(context, NULL, batch_of(1, 0), &error), LANNER_INVALID_ARGUMENT,
         "input is null");
  REFUSE(lanner_context_bind(context, "input", NULL, &error), LANNER_INVALID_ARGUMENT, "tensor is null");
  SUCCEED(lanner_tensor_create(LANNER_U8, shape, 2, &memory, &error));
  REFUSE(lanner_context_bind(context, "input", memory, &error), LANNER_INVALID_ARGUMENT, "u8");
  memory = batch_of(1, 0);
  memory->version.major = 2;
  REFUSE(lanner_context_bind(context, "input", memory, &error), LANNER_UNSUPPORTED, "version 2");
  memory = batch_of(1, 0);
  memory->dl_tensor.ndim = -1;
  REFUSE(lanner_context_bind(context, "input", memory, &error), LANNER_LIMIT_EXCEEDED, "rank -1");
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 2, &memory, &error));
  memory->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  REFUSE(lanner_context_bind_output(context, "logits", memory, &error), LANNER_INVALID_ARGUMENT,
         "only be read");
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 2, &memory, &error));
  memory->dl_tensor.shape[0] = 0x7fffffffffff;
  SUCCEED(lanner_context_bind_output(context, "logits", memory, &error));
  REFUSE(lanner_context_run(context, &error), LANNER_INVALID_ARGUMENT, "memory for");
  SUCCEED(lanner_context_bind_output(context, "logits", NULL, &error));
  REFUSE(lanner_context_bind(context, "input", batch_of(5, 0), &error), LANNER_INVALID_ARGUMENT, "1 to 4");
  REQUIRE(lanner_context_bind(context, "input", batch_of(5, 0), NULL) == LANNER_INVALID_ARGUMENT);
  lanner_context_destroy(context);
  REQUIRE(((float*)kept->dl_tensor.data)[1] == first);
  kept->deleter(kept);
}

/* What is agreed on the caller's memory. */
static void check_callers(const char* model) {
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
  REFUSE(lanner_context_state(context, "input", &state, &error), LANNER_INVALID_ARGUMENT, "no state");
  REFUSE(lanner_context_reset_states(NULL, &error), LANNER_INVALID_ARGUMENT, "context is null");
  lanner_context_destroy(context);
  lanner_engine_destroy(engine);
}

static void run_in_turn(void* user, int32_t count, void (*piece)(void*, int32_t), void* argument) {
  *(int32_t*)user += count;
  for (int32_t i = count; i-- > 0;) piece(argument, i);
}

/* Results stay right where the program runs the loops; tests/device/team_test.cpp counts its pieces. */
static void check_executor(const char* model) {
  int32_t pieces = 0;
  lanner_executor executor;
  lanner_engine* engine;
  executor.user = &pieces;
  executor.run = run_in_turn;
  REQUIRE(lanner_set_executor(&executor, NULL) == LANNER_OK);
  engine = build(model, 2);
  check_run(engine);
  lanner_engine_destroy(engine);
  REQUIRE(lanner_set_executor(NULL, NULL) == LANNER_OK);
}

typedef struct heap {
  int32_t held, given, refused;
} heap;

static void* take_memory(void* user, const lanner_allocation* wanted) {
  heap* own = (heap*)user;
  const size_t alignment = (size_t)wanted->alignment;
  char* block;
  char* memory;
  if (own->refused || wanted->device != LANNER_CPU || wanted->pinned) return NULL;
  block = (char*)malloc((size_t)wanted->bytes + alignment + sizeof block);
  if (!block) return NULL;
  memory = block + sizeof block;
  memory += alignment - (size_t)memory % alignment;
  memcpy(memory - sizeof block, &block, sizeof block); /* For who gives it back. */
  own->held++;
  own->given++;
  return memory;
}

static void give_memory_back(void* user, void* memory, const lanner_allocation* wanted) {
  heap* own = (heap*)user;
  char* block;
  REQUIRE(wanted->bytes > 0);
  memcpy(&block, (char*)memory - sizeof block, sizeof block);
  own->held--;
  free(block);
}

static void count_lines(void* user, int32_t level, const char* message) {
  REQUIRE(level >= 0 && level <= 2 && *message);
  ++*(int32_t*)user;
}

/* An environment's memory, threads, log and limits, and those of one run. */
static void check_surroundings(const char* model) {
  heap memory = {0, 0, 0}, of_call = {0, 0, 0};
  int32_t lines = 0, pieces = 0, pieces_of_call = 0;
  lanner_allocator allocator = {&memory, take_memory, give_memory_back};
  const lanner_allocator call_allocator = {&of_call, take_memory, give_memory_back};
  const lanner_executor executor = {&pieces, run_in_turn}, call_executor = {&pieces_of_call, run_in_turn};
  lanner_build_options options;
  lanner_run_options run;
  lanner_environment* environment;
  lanner_engine* engine;
  lanner_context* context;
  int32_t before;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  options.threads = 2;
  SUCCEED(lanner_environment_create(&environment, &error));
  SUCCEED(lanner_environment_set_allocator(environment, &allocator, &error));
  SUCCEED(lanner_environment_set_executor(environment, &executor, &error));
  SUCCEED(lanner_environment_set_log(environment, count_lines, &lines, &error));
  SUCCEED(lanner_environment_set_limits(environment, "file_bytes=10", &error));
  options.environment = environment;
  options.precision = "fp16"; /* Of which a CPU says that it has no effect. */
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_LIMIT_EXCEEDED,
         "in the limits of the environment");
  SUCCEED(lanner_environment_set_limits(environment, NULL, &error));
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  REQUIRE(lines == 1 && memory.held > 0);
  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  SUCCEED(lanner_context_bind(context, "input", batch_of(1, 2), &error));
  before = memory.given;
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(memory.given > before && answer(context, 1) == 2);
  memset(&run, 0, sizeof run);
  run.struct_size = sizeof run;
  run.executor = &call_executor;
  run.allocator = &call_allocator;
  pieces = 0;
  SUCCEED(lanner_context_run_with(context, &run, &error));
  REQUIRE(of_call.held == 1 && pieces == 0 && answer(context, 1) == 2);
  run.enqueue = 1;
  SUCCEED(lanner_context_run_with(context, &run, &error));
  REQUIRE(of_call.held == 1 && of_call.given == 2 && answer(context, 1) == 2);
  of_call.refused = 1;
  REFUSE(lanner_context_run_with(context, &run, &error), LANNER_OUT_OF_MEMORY, "allocator refused");
  run.reserved = 1;
  REFUSE(lanner_context_run_with(context, &run, &error), LANNER_UNSUPPORTED, "reserved is 1");
  SUCCEED(lanner_context_run_with(context, NULL, &error));
  REQUIRE(answer(context, 1) == 2);
  lanner_context_destroy(context);
  lanner_engine_destroy(engine);
  REQUIRE(memory.held == 0 && of_call.held == 0);
  allocator.release = NULL;
  REFUSE(lanner_environment_set_allocator(environment, &allocator, &error), LANNER_INVALID_ARGUMENT,
         "release is missing");
  REFUSE(lanner_environment_set_threads(environment, -1, &error), LANNER_INVALID_ARGUMENT, "threads is -1");
  SUCCEED(lanner_environment_set_executor(environment, NULL, &error));
  SUCCEED(lanner_environment_set_log(environment, NULL, NULL, &error));
  lanner_environment_destroy(environment);
}

static void check_tensors(void) {
  const int64_t shape[] = {2, -1}, huge[] = {INT64_MAX, 4};
  DLManagedTensorVersioned* tensor = NULL;
  REFUSE(lanner_tensor_create(LANNER_F32, shape, 2, &tensor, &error), LANNER_INVALID_ARGUMENT, "-1");
  REFUSE(lanner_tensor_create(LANNER_F32, huge, 2, &tensor, &error), LANNER_LIMIT_EXCEEDED, "");
  REFUSE(lanner_tensor_create(26, huge, 1, &tensor, &error), LANNER_INVALID_ARGUMENT, "dtype 26");
  REFUSE(lanner_tensor_create(LANNER_F32, NULL, 1, &tensor, &error), LANNER_INVALID_ARGUMENT,
         "shape is null");
  REFUSE(lanner_tensor_create(LANNER_F32, huge, 1000, &tensor, &error), LANNER_LIMIT_EXCEEDED, "rank 1000");
  REFUSE(lanner_tensor_create(LANNER_STRING, NULL, 0, &tensor, &error), LANNER_UNSUPPORTED, "string");
  REFUSE(lanner_tensor_create(LANNER_F32, NULL, 0, NULL, &error), LANNER_INVALID_ARGUMENT, "tensor is null");
  SUCCEED(lanner_tensor_create(LANNER_F32, NULL, 0, &tensor, &error));
  REQUIRE(tensor->dl_tensor.ndim == 0 && (uintptr_t)tensor->dl_tensor.data % 64 == 0);
  tensor->deleter(tensor);
}

static void check_plans(lanner_engine* engine) {
  lanner_engine *loaded = NULL, *again = NULL;
  char* bytes = malloc(1 << 20);
  size_t size;
  FILE* file;
  REFUSE(lanner_engine_build("absent.onnx", NULL, &loaded, &error), LANNER_NOT_FOUND, "absent.onnx");
  REFUSE(lanner_engine_load("absent.plan", NULL, &loaded, &error), LANNER_NOT_FOUND, "absent.plan");
  REFUSE(lanner_engine_build(NULL, NULL, &loaded, &error), LANNER_INVALID_ARGUMENT, "path is null");
  REFUSE(lanner_engine_build("absent.onnx", NULL, NULL, &error), LANNER_INVALID_ARGUMENT, "engine is null");
  REFUSE(lanner_engine_build_bytes("noise", 5, NULL, &loaded, &error), LANNER_BAD_DATA, "not a model");
  REFUSE(lanner_engine_load_bytes("noise", 5, NULL, &loaded, &error), LANNER_BAD_DATA, "");
  REFUSE(lanner_engine_load_bytes(NULL, 5, NULL, &loaded, &error), LANNER_INVALID_ARGUMENT, "plan is null");
  REFUSE(lanner_engine_save(engine, "absent/x.plan", &error), LANNER_NOT_FOUND, "absent");
  REFUSE(lanner_engine_save(NULL, "x.plan", &error), LANNER_INVALID_ARGUMENT, "engine is null");
  REQUIRE(lanner_engine_build("absent.onnx", NULL, &loaded, NULL) == LANNER_NOT_FOUND);
  SUCCEED(lanner_engine_save(engine, "saved.plan", &error));
  SUCCEED(lanner_engine_load("saved.plan", NULL, &loaded, &error));
  check_run(loaded);
  lanner_engine_destroy(loaded);
  file = fopen("saved.plan", "rb");
  REQUIRE(file && bytes);
  size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  SUCCEED(lanner_engine_load_bytes(bytes, size, NULL, &again, &error));
  memset(bytes, 0, size);
  free(bytes);
  check_run(again);
  lanner_engine_destroy(again);
}

/* A matrix that takes the last channel for the first. */
static DLManagedTensorVersioned* turned_weight(void) {
  const int64_t shape[] = {3, 3};
  DLManagedTensorVersioned* tensor = NULL;
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 2, &tensor, &error));
  ((float*)tensor->dl_tensor.data)[2] = ((float*)tensor->dl_tensor.data)[4] = 10;
  ((float*)tensor->dl_tensor.data)[6] = 10;
  return tensor;
}

static void check_weights(const lanner_engine* engine) {
  const char *names[] = {"weight", "weight"}, *wrong[] = {"weigth"};
  const int64_t shape[] = {3};
  DLManagedTensorVersioned* tensors[2];
  lanner_engine *refitted = NULL, *loaded = NULL;
  lanner_context* context = NULL;
  lanner_save_options save;
  lanner_load_options load;
  tensors[0] = turned_weight();
  SUCCEED(lanner_engine_refit(engine, names, tensors, 1, &refitted, &error));
  SUCCEED(lanner_context_create(refitted, NULL, &context, &error));
  SUCCEED(lanner_context_bind(context, "input", batch_of(1, 0), &error));
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 2);
  lanner_context_destroy(context);
  lanner_engine_destroy(refitted);
  tensors[0] = turned_weight();
  REFUSE(lanner_engine_refit(engine, wrong, tensors, 1, &refitted, &error), LANNER_NOT_FOUND, "weigth");
  tensors[0] = turned_weight();
  tensors[1] = turned_weight();
  REFUSE(lanner_engine_refit(engine, names, tensors, 2, &refitted, &error), LANNER_INVALID_ARGUMENT,
         "given twice");
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 1, &tensors[0], &error));
  REFUSE(lanner_engine_refit(engine, names, tensors, 1, &refitted, &error), LANNER_INVALID_ARGUMENT,
         "expected f32[3, 3]");
  REFUSE(lanner_engine_refit(engine, names, NULL, 1, &refitted, &error), LANNER_INVALID_ARGUMENT,
         "tensors is null");
  memset(&save, 0, sizeof save);
  save.struct_size = sizeof save;
  save.strip_weights = 1;
  SUCCEED(lanner_engine_save_with(engine, "bare.plan", &save, &error));
  SUCCEED(lanner_engine_save_with(engine, "whole.plan", NULL, &error));
  REFUSE(lanner_engine_load("bare.plan", NULL, &loaded, &error), LANNER_INVALID_ARGUMENT,
         "without its weights");
  memset(&load, 0, sizeof load);
  load.struct_size = sizeof load;
  load.weights = "whole.plan";
  SUCCEED(lanner_engine_load("bare.plan", &load, &loaded, &error));
  check_run(loaded);
  lanner_engine_destroy(loaded);
}

static void check_weight_memory(const lanner_engine* engine) {
  lanner_weight_memory memory;
  memset(&memory, 1, sizeof memory);
  memory.struct_size = sizeof memory;
  SUCCEED(lanner_engine_weight_memory(engine, &memory, &error));
  REQUIRE(memory.streamable == 0 && memory.least == 0 && memory.budget == 0);
  REFUSE(lanner_engine_weight_memory(engine, NULL, &error), LANNER_INVALID_ARGUMENT, "memory is null");
  REFUSE(lanner_engine_set_weight_budget(engine, 1 << 20, &error), LANNER_UNSUPPORTED, "on a GPU");
  SUCCEED(lanner_engine_set_weight_budget(engine, 0, &error));
}

static void check_verify(const lanner_engine* engine) {
  const int64_t two[] = {2, 3, 8, 8}, nine[] = {9, 3, 8, 8};
  lanner_verify_options options;
  lanner_shape_range shape;
  int stop = 0;
  SUCCEED(lanner_engine_verify(engine, NULL, &error));
  memset(&options, 0, sizeof options);
  memset(&shape, 0, sizeof shape);
  options.struct_size = sizeof options;
  options.seed = 7;
  options.runs = 2;
  options.contexts = 3;
  options.shapes = &shape;
  options.shape_count = 1;
  options.progress = count_progress;
  options.progress_user = &stop;
  shape.input = "input";
  shape.rank = 4;
  shape.min = two;
  progress_calls = 0;
  SUCCEED(lanner_engine_verify(engine, &options, &error));
  REQUIRE(progress_calls > 0);
  shape.min = nine;
  REFUSE(lanner_engine_verify(engine, &options, &error), LANNER_INVALID_ARGUMENT, "input");
  shape.min = two;
  stop = 1;
  REFUSE(lanner_engine_verify(engine, &options, &error), LANNER_CANCELLED, "");
  options.runs = -1;
  REFUSE(lanner_engine_verify(engine, &options, &error), LANNER_INVALID_ARGUMENT, "runs is -1");
  REFUSE(lanner_engine_verify(NULL, NULL, &error), LANNER_INVALID_ARGUMENT, "engine is null");
}

static void check_images(const lanner_engine* engine) {
  static unsigned char pixels[10 * 64];
  const void* planes[] = {pixels};
  const int64_t pitches[] = {64};
  const lanner_image* pictures[2];
  lanner_image_info info;
  lanner_image *image = NULL, *back = NULL;
  lanner_context* context = NULL;
  DLManagedTensorVersioned* tensor = NULL;
  int i;
  for (i = 0; i < 10 * 64; ++i) pixels[i] = i % 64 % 3 == 1 ? 200 : 20;
  REFUSE(lanner_image_create("rgb", 20, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "rgb24");
  REFUSE(lanner_image_create("rgb24", 22, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "66 bytes");
  REFUSE(lanner_image_create("rgb24", -1, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "-1x10");
  REFUSE(lanner_image_create("rgb24", 20, 10, NULL, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "planes");
  SUCCEED(lanner_image_create("rgb24", 20, 10, planes, pitches, &image, &error));
  memset(pixels, 0, sizeof pixels);
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  SUCCEED(lanner_image_describe(image, &info, &error));
  REQUIRE(info.width == 20 && info.height == 10 && strcmp(info.format, "rgb24") == 0);
  SUCCEED(lanner_image_to_tensor(image, preprocess, &tensor, &error));
  REQUIRE(tensor->dl_tensor.ndim == 4 && tensor->dl_tensor.shape[2] == 8);
  REQUIRE(((float*)tensor->dl_tensor.data)[0] == 20.f && ((float*)tensor->dl_tensor.data)[64] == 200.f);
  tensor->deleter(tensor);
  REFUSE(lanner_image_to_tensor(image, "resnet", &tensor, &error), LANNER_INVALID_ARGUMENT, "imagenet");
  REFUSE(lanner_image_to_tensor(image, "{\"size\": 3}", &tensor, &error), LANNER_BAD_DATA, "size");
  REFUSE(lanner_image_to_tensor(image, NULL, &tensor, &error), LANNER_INVALID_ARGUMENT, "preprocess is null");
  REFUSE(lanner_image_load("absent.png", &back, &error), LANNER_NOT_FOUND, "absent.png");
  REFUSE(lanner_image_save(image, "picture.xyz", &error), LANNER_UNSUPPORTED, "xyz");
  SUCCEED(lanner_image_save(image, "picture.png", &error));
  SUCCEED(lanner_image_load("picture.png", &back, &error));

  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  pictures[0] = image;
  pictures[1] = back;
  SUCCEED(lanner_context_bind_images(context, "input", pictures, 2, NULL, &error));
  lanner_image_destroy(image);
  lanner_image_destroy(back);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 2) == 1);
  pictures[1] = NULL;
  REFUSE(lanner_context_bind_images(context, "input", pictures + 1, 1, NULL, &error), LANNER_INVALID_ARGUMENT,
         "images[0] is null");
  REFUSE(lanner_context_bind_images(context, "input", NULL, 0, NULL, &error), LANNER_INVALID_ARGUMENT,
         "no image");
  lanner_context_destroy(context);
}

static lanner_image* picture_of(int32_t width, int32_t height, int channel) {
  static unsigned char pixels[64 * 64 * 3];
  const void* planes[] = {pixels};
  const int64_t pitches[] = {width * 3};
  lanner_image* image = NULL;
  int i;
  for (i = 0; i < width * height * 3; ++i) pixels[i] = i % 3 == channel ? 200 : 20;
  SUCCEED(lanner_image_create("rgb24", width, height, planes, pitches, &image, &error));
  return image;
}

/* An input that takes images, of a format and of any size. */
static void check_pictures(const char* model) {
  lanner_input_picture picture = {"input", "rgb24x", NULL};
  lanner_build_options options;
  lanner_binding binding;
  lanner_engine* engine = NULL;
  lanner_context* context = NULL;
  lanner_image* images[2];
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  options.picture_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "pictures is null");
  options.pictures = &picture;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "rgb24x");
  picture.format = "rgb24";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "preprocess is null");
  picture.preprocess = preprocess;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.picture, "rgb24") == 0);
  SUCCEED(lanner_engine_output(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.picture, "") == 0);
  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  REFUSE(lanner_context_bind(context, "input", batch_of(1, 2), &error), LANNER_INVALID_ARGUMENT,
         "bind an Image");
  images[0] = picture_of(20, 10, 0);
  images[1] = picture_of(7, 33, 2);
  SUCCEED(lanner_context_bind_images(context, "input", (const lanner_image* const*)images, 2, NULL, &error));
  lanner_image_destroy(images[0]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 2) == 2);
  SUCCEED(
      lanner_context_bind_images(context, "input", (const lanner_image* const*)images + 1, 1, NULL, &error));
  lanner_image_destroy(images[1]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 2);
  lanner_context_destroy(context);
  lanner_engine_destroy(engine);
}

static void check_video(const lanner_engine* engine, const char* clip) {
  lanner_video_options options;
  lanner_video_info facts;
  lanner_frame_info frame;
  lanner_video* video = NULL;
  lanner_image* image = NULL;
  const lanner_image* pictures[1];
  lanner_context* context = NULL;
  int64_t count = 0;
  REFUSE(lanner_video_open("absent.mp4", NULL, &video, &error), LANNER_NOT_FOUND, "absent.mp4");
  REFUSE(lanner_video_open("saved.plan", NULL, &video, &error), LANNER_BAD_DATA, "saved.plan");
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  SUCCEED(lanner_video_open(clip, &options, &video, &error));
  memset(&facts, 0, sizeof facts);
  facts.struct_size = sizeof facts;
  SUCCEED(lanner_video_describe(video, &facts, &error));
  REQUIRE(facts.width == 64 && facts.height == 48 && strcmp(facts.codec, "h264") == 0);
  REQUIRE(facts.rate_num == 25 * facts.rate_den && facts.duration > 0.4);
  SUCCEED(lanner_video_frame_count(video, &count, &error));
  REQUIRE(count == 12);
  memset(&frame, 0, sizeof frame);
  REFUSE(lanner_video_next(video, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "struct_size");
  REQUIRE(image == NULL);
  frame.struct_size = sizeof frame;
  SUCCEED(lanner_video_read(video, 10, &image, &frame, &error));
  REQUIRE(frame.index == 10 && frame.pts * frame.tick_num * 25 == 10 * frame.tick_den && !frame.corrupt);
  lanner_image_destroy(image);
  SUCCEED(lanner_video_next(video, &image, &frame, &error));
  REQUIRE(image && frame.index == 11);
  pictures[0] = image;
  SUCCEED(lanner_video_next(video, &image, NULL, &error));
  REQUIRE(image == NULL);
  REFUSE(lanner_video_read(video, 12, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "12");
  REFUSE(lanner_video_read(video, -1, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "-1");
  REFUSE(lanner_video_frame_count(NULL, &count, &error), LANNER_INVALID_ARGUMENT, "video is null");
  lanner_video_destroy(video);

  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  SUCCEED(lanner_context_bind_images(context, "input", pictures, 1, preprocess, &error));
  lanner_image_destroy((lanner_image*)pictures[0]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 1);
  lanner_context_destroy(context);
}

int main(int count, char** arguments) {
  lanner_engine* engine;
  REQUIRE(count == 3);
  check_versions();
  check_threads();
  check_executor(arguments[1]);
  check_surroundings(arguments[1]);
  check_tensors();
  check_options(arguments[1]);
  check_callers(arguments[1]);
  engine = build(arguments[1], 1);
  check_bindings(engine);
  check_run(engine);
  check_plans(engine);
  check_weights(engine);
  check_weight_memory(engine);
  check_verify(engine);
  check_images(engine);
  check_pictures(arguments[1]);
  check_video(engine, arguments[2]);
  lanner_engine_destroy(engine);
  puts("all holds");
  return 0;
}
