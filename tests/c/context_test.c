/* Tensors and runs. */

#include "c_test.h"

void check_tensors(void) {
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

/* Rejected tensors are consumed, too. */
static void check_refused_tensors(lanner_context* context) {
  DLManagedTensorVersioned* memory = NULL;
  const int64_t shape[] = {1, 3};
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
}

void check_run(const lanner_engine* engine) {
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
  check_refused_tensors(context);
  lanner_context_destroy(context);
  REQUIRE(((float*)kept->dl_tensor.data)[1] == first);
  kept->deleter(kept);
}
