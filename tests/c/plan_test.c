/* Plans, refit and verification of engines. */

#include "c_test.h"

void check_plans(lanner_engine* engine) {
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

/* A matrix that maps the last channel to the first. */
static DLManagedTensorVersioned* turned_weight(void) {
  const int64_t shape[] = {3, 3};
  DLManagedTensorVersioned* tensor = NULL;
  SUCCEED(lanner_tensor_create(LANNER_F32, shape, 2, &tensor, &error));
  ((float*)tensor->dl_tensor.data)[2] = ((float*)tensor->dl_tensor.data)[4] = 10;
  ((float*)tensor->dl_tensor.data)[6] = 10;
  return tensor;
}

static int deleted;

static void count_deleted(DLManagedTensorVersioned* tensor) {
  (void)tensor;
  ++deleted;
}

/* Tensors of a refit are owned also where an argument is wrong: each deleter is called once. */
static void check_failed_refits(const lanner_engine* engine) {
  const char* names[] = {"weight", "bias"};
  int64_t shape[] = {3, 3};
  float values[9] = {0};
  DLManagedTensorVersioned given[2], *tensors[2];
  lanner_engine* refitted = NULL;
  int i;
  memset(given, 0, sizeof given);
  deleted = 0;
  for (i = 0; i < 2; ++i) {
    given[i].version.major = 1;
    given[i].deleter = count_deleted;
    given[i].dl_tensor.data = values;
    given[i].dl_tensor.device.device_type = kDLCPU;
    given[i].dl_tensor.ndim = 2;
    given[i].dl_tensor.dtype.code = kDLFloat;
    given[i].dl_tensor.dtype.bits = 32;
    given[i].dl_tensor.dtype.lanes = 1;
    given[i].dl_tensor.shape = shape;
    tensors[i] = &given[i];
  }
  given[0].version.major = 2;
  REFUSE(lanner_engine_refit(engine, names, tensors, 2, &refitted, &error), LANNER_UNSUPPORTED,
         "expected 1.x");
  REQUIRE(deleted == 2 && !refitted);
  given[0].version.major = 1;
  REFUSE(lanner_engine_refit(engine, names, tensors, 2, NULL, &error), LANNER_INVALID_ARGUMENT,
         "engine is null");
  REQUIRE(deleted == 4);
  REFUSE(lanner_engine_refit(engine, NULL, tensors, 2, &refitted, &error), LANNER_INVALID_ARGUMENT,
         "names is null");
  REQUIRE(deleted == 6);
  tensors[0] = NULL;
  REFUSE(lanner_engine_refit(engine, names, tensors, 2, &refitted, &error), LANNER_INVALID_ARGUMENT,
         "tensor is null");
  REQUIRE(deleted == 7);
}

void check_weights(const lanner_engine* engine) {
  const char *names[] = {"weight", "weight"}, *wrong[] = {"weigth"};
  const int64_t shape[] = {3};
  DLManagedTensorVersioned* tensors[2];
  lanner_engine *refitted = NULL, *loaded = NULL;
  lanner_context* context = NULL;
  lanner_save_options save;
  lanner_load_options load;
  check_failed_refits(engine);
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
  load.verify = 1;
  SUCCEED(lanner_engine_load("bare.plan", &load, &loaded, &error));
  check_run(loaded);
  lanner_engine_destroy(loaded);
}

void check_weight_memory(const lanner_engine* engine) {
  lanner_weight_memory memory;
  memset(&memory, 1, sizeof memory);
  memory.struct_size = sizeof memory;
  SUCCEED(lanner_engine_weight_memory(engine, &memory, &error));
  REQUIRE(memory.streamable == 0 && memory.least == 0 && memory.budget == 0);
  REFUSE(lanner_engine_weight_memory(engine, NULL, &error), LANNER_INVALID_ARGUMENT, "memory is null");
  REFUSE(lanner_engine_set_weight_budget(engine, 1 << 20, &error), LANNER_UNSUPPORTED, "on a GPU");
  SUCCEED(lanner_engine_set_weight_budget(engine, 0, &error));
}

void check_verify(const lanner_engine* engine) {
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
