/* A program's own threads, memory, log and limits. */

#include "c_test.h"

static void run_in_turn(void* user, int32_t count, void (*piece)(void*, int32_t), void* argument) {
  *(int32_t*)user += count;
  for (int32_t i = count; i-- > 0;) piece(argument, i);
}

/* Results stay right where the program runs the loops; tests/device/team_test.cpp counts its pieces. */
void check_executor(const char* model) {
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
  memcpy(memory - sizeof block, &block, sizeof block); /* for the release */
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

static void count_warnings(void* user, int32_t level, const char* message) {
  REQUIRE(level >= 0 && level <= 2 && *message);
  *(int32_t*)user += level == 2;
}

static void check_refused_thread_settings(lanner_environment* environment) {
  const lanner_allocator allocator = {NULL, take_memory, NULL};
  REFUSE(lanner_environment_set_allocator(environment, &allocator, &error), LANNER_INVALID_ARGUMENT,
         "release is missing");
  REFUSE(lanner_environment_set_threads(environment, -1, &error), LANNER_INVALID_ARGUMENT, "threads is -1");
  REFUSE(lanner_environment_set_backends(environment, "cpu,mkl", &error), LANNER_INVALID_ARGUMENT,
         "unknown backend 'mkl'");
  REFUSE(lanner_environment_set_backends(environment, "", &error), LANNER_INVALID_ARGUMENT, "backend ''");
}

/* An environment's memory, threads, log and limits, and those of one run. */
void check_thread_settings(const char* model) {
  heap memory = {0, 0, 0}, of_call = {0, 0, 0};
  int32_t lines = 0, pieces = 0, pieces_of_call = 0;
  const lanner_allocator allocator = {&memory, take_memory, give_memory_back};
  const lanner_allocator call_allocator = {&of_call, take_memory, give_memory_back};
  const lanner_executor executor = {&pieces, run_in_turn}, call_executor = {&pieces_of_call, run_in_turn};
  const int64_t sizes[] = {1, 3, 8, 8};
  const lanner_shape_range shape = {"input", 4, sizes, NULL, NULL};
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
  options.shapes = &shape;
  options.shape_count = 1;
  SUCCEED(lanner_environment_create(&environment, &error));
  SUCCEED(lanner_environment_set_allocator(environment, &allocator, &error));
  SUCCEED(lanner_environment_set_executor(environment, &executor, &error));
  SUCCEED(lanner_environment_set_log(environment, count_warnings, &lines, &error));
  SUCCEED(lanner_environment_set_backends(environment, "reference,cpu", &error));
  SUCCEED(lanner_environment_set_limits(environment, "file_bytes=10", &error));
  options.environment = environment;
  options.precision = "fp16"; /* A CPU warns that it has no effect. */
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
  check_refused_thread_settings(environment);
  SUCCEED(lanner_environment_set_executor(environment, NULL, &error));
  SUCCEED(lanner_environment_set_log(environment, NULL, NULL, &error));
  SUCCEED(lanner_environment_set_backends(environment, NULL, &error));
  lanner_environment_destroy(environment);
}
