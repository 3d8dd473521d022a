/* What the files of the C interface's test share. */

#pragma once

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
    check_refusal(__FILE__, __LINE__, #call, status, error, wanted, part);                                   \
  } while (0)

void check_refusal(const char* file, int line, const char* call, lanner_status status, lanner_error* error,
                   lanner_status wanted, const char* part);

/* Of the model's input. */
extern const char* const preprocess;

/* Calls of count_progress(), whose `user` is what it gives back. */
extern int progress_calls;
int count_progress(void* user, const char* stage, double done, double total);

/* An engine of the model for batches of 1 to 4. */
lanner_engine* build(const char* model, int32_t threads);
/* A batch in which `channel` of each element is the brightest. */
DLManagedTensorVersioned* batch_of(int64_t count, int channel);
/* The brightest channel of the last element of `logits`. */
int answer(lanner_context* context, int64_t count);

void check_tensors(void);
void check_options(const char* model);
void check_older_and_newer_callers(const char* model);
void check_bindings(const lanner_engine* engine);
void check_callers(const char* model);
void check_run(const lanner_engine* engine);
void check_executor(const char* model);
void check_thread_settings(const char* model);
void check_plans(lanner_engine* engine);
void check_weights(const lanner_engine* engine);
void check_weight_memory(const lanner_engine* engine);
void check_verify(const lanner_engine* engine);
void check_images(const lanner_engine* engine);
void check_pictures(const char* model);
void check_video(const lanner_engine* engine, const char* clip);
