/* The C interface from a program in C99: c_test MODEL CLIP, in a folder of its own. The model says which of
   three channels is brightest (`input` f32 [N, 3, 8, 8] -> `logits` f32 [N, 3]); the clip has 12 frames of
   64x48. Ends with 0 when all holds. One compiler call builds it of all *_test.c here. */

#include "c_test.h"

void check_refusal(const char* file, int line, const char* call, lanner_status status, lanner_error* error,
                   lanner_status wanted, const char* part) {
  const char* message = lanner_error_message(error);
  if (status != wanted || lanner_error_status(error) != wanted || !strstr(message, part) ||
      strchr(message, '\n')) {
    fprintf(stderr, "%s:%d: %s: %s: '%s', expected %s with '%s'\n", file, line, call,
            lanner_status_name(status), message, lanner_status_name(wanted), part);
    exit(1);
  }
  lanner_error_destroy(error);
}

const char* const preprocess = "{\"preset\": \"none\", \"width\": 8, \"height\": 8}";

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

int progress_calls;

int count_progress(void* user, const char* stage, double done, double total) {
  REQUIRE(stage && done >= 0 && total >= 0);
  progress_calls += 1;
  return *(const int*)user;
}

lanner_engine* build(const char* model, int32_t threads) {
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

DLManagedTensorVersioned* batch_of(int64_t count, int channel) {
  const int64_t shape[] = {count, 3, 8, 8};
  DLManagedTensorVersioned* tensor = NULL;
  int64_t i;
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 4, &tensor, &error));
  for (i = 0; i < count * 3 * 64; ++i)
    ((float*)tensor->dl_tensor.data)[i] = i / 64 % 3 == channel ? 1.f : 0.f;
  return tensor;
}

int answer(lanner_context* context, int64_t count) {
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

int main(int count, char** arguments) {
  lanner_engine* engine;
  REQUIRE(count == 3);
  check_versions();
  check_threads();
  check_executor(arguments[1]);
  check_thread_settings(arguments[1]);
  check_tensors();
  check_options(arguments[1]);
  check_older_and_newer_callers(arguments[1]);
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
