/* A plug-in in C99 over the installed headers alone: what engines do with operators from outside is tested
   with it. Its domain is `own`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lanner/c.h>

/* Number of live instances, and the maximum active at once. */
static int instances, at_work, most_at_work;

int32_t custom_operators_instances(void) {
  return __sync_fetch_and_add(&instances, 0);
}
int32_t custom_operators_most_at_work(void) {
  return __sync_fetch_and_add(&most_at_work, 0);
}

static lanner_status say(char* message, lanner_status status, const char* text) {
  snprintf(message, LANNER_MESSAGE_BYTES, "%s", text);
  return status;
}

static double attribute(const lanner_node* node, const char* name, double fallback) {
  char key[64];
  const char* found;
  snprintf(key, sizeof key, "\"%s\":", name);
  found = strstr(node->attributes, key);
  return found ? strtod(found + strlen(key), NULL) : fallback;
}

static int64_t elements(const lanner_operand* operand) {
  int64_t count = 1;
  int d;
  for (d = 0; d < operand->rank; ++d) count *= operand->dims[d];
  return count;
}

/* ---- own.Scale: x [N, C, H, W] by channel with w [C] and the attribute `factor` ---- */

typedef struct instance {
  double factor;
  int busy;
} instance;

static lanner_status scale_infer(void* user, const lanner_node* node, lanner_value* outputs, char* message) {
  (void)user;
  if (node->inputs[0].dtype != LANNER_F32 || node->inputs[1].dtype != LANNER_F32)
    return say(message, LANNER_INVALID_ARGUMENT, "expected f32 operands");
  if (node->inputs[0].rank != LANNER_RANK_UNKNOWN && node->inputs[0].rank != 4)
    return say(message, LANNER_INVALID_ARGUMENT, "expected an operand of rank 4");
  outputs[0] = node->inputs[0];
  return LANNER_OK;
}

static void scale_by(const lanner_operand* x, const float* weights, const lanner_operand* y) {
  const int64_t* size = x->dims;
  int64_t n, c, h, w;
  for (n = 0; n < size[0]; ++n)
    for (c = 0; c < size[1]; ++c)
      for (h = 0; h < size[2]; ++h)
        for (w = 0; w < size[3]; ++w) {
          const int64_t from = n * x->strides[0] + c * x->strides[1] + h * x->strides[2] + w * x->strides[3];
          const int64_t to = n * y->strides[0] + c * y->strides[1] + h * y->strides[2] + w * y->strides[3];
          ((float*)y->data)[to] = ((const float*)x->data)[from] * weights[c];
        }
}

static void fill_weights(const lanner_operand* w, double factor, float* weights) {
  int64_t c;
  for (c = 0; c < w->dims[0]; ++c) weights[c] = ((const float*)w->data)[c] * (float)factor;
}

static lanner_status scale_reference(void* user, const lanner_node* node, const lanner_operand* inputs,
                                     const lanner_operand* outputs, char* message) {
  float* weights = malloc((size_t)inputs[1].bytes + 1);
  (void)user;
  if (!weights) return say(message, LANNER_OUT_OF_MEMORY, "no memory for the weights");
  fill_weights(&inputs[1], attribute(node, "factor", 1), weights);
  scale_by(&inputs[0], weights, &outputs[0]);
  free(weights);
  return LANNER_OK;
}

/* 0: row-major; 1: channels last. */
static lanner_status scale_supports(void* user, const lanner_node* node, const lanner_kernel* kernel,
                                    lanner_storage* inputs, lanner_storage* outputs, char* message) {
  (void)user, (void)node, (void)message;
  if (kernel->device != LANNER_CPU || kernel->combination > 1) return LANNER_NOT_FOUND;
  if (kernel->combination == 1) inputs[0].layout = outputs[0].layout = "acdb";
  return LANNER_OK;
}

static lanner_status scale_workspace(void* user, const lanner_node* node, const lanner_kernel* kernel,
                                     uint64_t* bytes, char* message) {
  (void)user, (void)kernel, (void)message;
  *bytes = (uint64_t)node->inputs[1].dims[0] * sizeof(float);
  return LANNER_OK;
}

static lanner_status made(double factor, void** into, char* message) {
  instance* one = malloc(sizeof *one);
  if (!one) return say(message, LANNER_OUT_OF_MEMORY, "no memory for an instance");
  one->factor = factor;
  one->busy = 0;
  *into = one;
  __sync_fetch_and_add(&instances, 1);
  return LANNER_OK;
}

static lanner_status scale_create(void* user, const lanner_node* node, const lanner_kernel* kernel,
                                  void** into, char* message) {
  (void)user, (void)kernel;
  return made(attribute(node, "factor", 1), into, message);
}

static void scale_destroy(void* user, void* one) {
  (void)user;
  free(one);
  __sync_fetch_and_sub(&instances, 1);
}

static lanner_status scale_serialise(void* user, const void* one, void* bytes, size_t capacity, size_t* size,
                                     char* message) {
  (void)user, (void)message;
  *size = 4 + sizeof(double);
  if (capacity < *size) return LANNER_OK;
  memcpy(bytes, "own1", 4);
  memcpy((char*)bytes + 4, &((const instance*)one)->factor, sizeof(double));
  return LANNER_OK;
}

static lanner_status scale_deserialise(void* user, const lanner_node* node, const lanner_kernel* kernel,
                                       const void* bytes, size_t size, void** into, char* message) {
  double factor;
  (void)user, (void)node, (void)kernel;
  if (size != 4 + sizeof factor || memcmp(bytes, "own1", 4) != 0)
    return say(message, LANNER_BAD_DATA, "these bytes are not a state of Scale");
  memcpy(&factor, (const char*)bytes + 4, sizeof factor);
  return made(factor, into, message);
}

static lanner_status scale_run(void* user, void* handle, const lanner_operand* inputs,
                               const lanner_operand* outputs, void* workspace, void* stream, char* message) {
  instance* one = handle;
  const int now = __sync_add_and_fetch(&at_work, 1);
  int most = __sync_fetch_and_add(&most_at_work, 0);
  (void)user, (void)stream;
  while (now > most && !__sync_bool_compare_and_swap(&most_at_work, most, now))
    most = __sync_fetch_and_add(&most_at_work, 0);
  if (!__sync_bool_compare_and_swap(&one->busy, 0, 1))
    return say(message, LANNER_INTERNAL, "two runs share an instance");
  fill_weights(&inputs[1], one->factor, workspace);
  scale_by(&inputs[0], workspace, &outputs[0]);
  one->busy = 0;
  __sync_fetch_and_sub(&at_work, 1);
  return LANNER_OK;
}

/* ---- own.Positives: the elements of x above 0, in order; their number depends on the data ---- */

static lanner_status positives_infer(void* user, const lanner_node* node, lanner_value* outputs,
                                     char* message) {
  int d;
  (void)user;
  if (node->inputs[0].dtype != LANNER_F32) return say(message, LANNER_INVALID_ARGUMENT, "expected f32");
  outputs[0].dtype = LANNER_F32;
  outputs[0].rank = 1;
  if (node->inputs[0].rank < 0) return LANNER_OK;
  outputs[0].max_dims[0] = 1;
  for (d = 0; d < node->inputs[0].rank; ++d)
    if (node->inputs[0].max_dims[d] > INT64_MAX / 4096)
      outputs[0].max_dims[0] = INT64_MAX;
    else if (outputs[0].max_dims[0] < INT64_MAX / 4096)
      outputs[0].max_dims[0] *= node->inputs[0].max_dims[d];
  return LANNER_OK;
}

static lanner_status positives_count(void* user, const lanner_node* node, const lanner_operand* inputs,
                                     lanner_value* outputs, char* message) {
  const int64_t count = elements(&inputs[0]);
  int64_t i;
  (void)user, (void)node, (void)message;
  outputs[0].dims[0] = 0;
  for (i = 0; i < count; ++i)
    if (((const float*)inputs[0].data)[i] > 0) ++outputs[0].dims[0];
  return LANNER_OK;
}

static lanner_status positives(void* user, const lanner_node* node, const lanner_operand* inputs,
                               const lanner_operand* outputs, char* message) {
  const int64_t count = elements(&inputs[0]);
  int64_t i, place = 0;
  (void)user, (void)node, (void)message;
  for (i = 0; i < count; ++i)
    if (((const float*)inputs[0].data)[i] > 0)
      ((float*)outputs[0].data)[place++] = ((const float*)inputs[0].data)[i];
  return LANNER_OK;
}

/* ---- own.Ramp: 0, 1, 2, ... in the shape that an input of integers gives ---- */

static lanner_status ramp_infer(void* user, const lanner_node* node, lanner_value* outputs, char* message) {
  const lanner_value* shape = &node->inputs[0];
  int64_t d;
  (void)user;
  outputs[0].dtype = LANNER_F32;
  if (shape->rank != 1 || shape->dims[0] < 0) return LANNER_OK;
  if (shape->dims[0] > LANNER_MAX_DIMS) return say(message, LANNER_INVALID_ARGUMENT, "too many dims");
  outputs[0].rank = (int32_t)shape->dims[0];
  for (d = 0; shape->elements && d < shape->dims[0]; ++d) outputs[0].dims[d] = shape->elements[d];
  return LANNER_OK;
}

static lanner_status ramp(void* user, void* handle, const lanner_operand* inputs,
                          const lanner_operand* outputs, void* workspace, void* stream, char* message) {
  const int64_t count = elements(&outputs[0]);
  int64_t i;
  (void)user, (void)handle, (void)inputs, (void)workspace, (void)stream, (void)message;
  for (i = 0; i < count; ++i) ((float*)outputs[0].data)[i] = (float)i;
  return LANNER_OK;
}

lanner_status lanner_plugin(lanner_environment* environment, lanner_error** error) {
  lanner_operator scale = {0}, some = {0}, numbers = {0};
  lanner_status status;

  scale.struct_size = sizeof scale;
  scale.name = "own.Scale";
  scale.version = 1;
  scale.min_inputs = scale.max_inputs = 2;
  scale.min_outputs = scale.max_outputs = 1;
  scale.infer = scale_infer;
  scale.reference = scale_reference;
  scale.supports = scale_supports;
  scale.workspace = scale_workspace;
  scale.create = scale_create;
  scale.destroy = scale_destroy;
  scale.serialise = scale_serialise;
  scale.deserialise = scale_deserialise;
  scale.run = scale_run;

  some.struct_size = sizeof some;
  some.name = "own.Positives";
  some.version = 1;
  some.min_inputs = some.max_inputs = some.min_outputs = some.max_outputs = 1;
  some.infer = positives_infer;
  some.infer_at_run = positives_count;
  some.reference = positives;

  numbers.struct_size = sizeof numbers;
  numbers.name = "own.Ramp";
  numbers.version = 1;
  numbers.min_inputs = numbers.max_inputs = numbers.min_outputs = numbers.max_outputs = 1;
  numbers.infer = ramp_infer;
  numbers.run = ramp;

  status = lanner_environment_add_operator(environment, &scale, error);
  if (!status) status = lanner_environment_add_operator(environment, &some, error);
  if (!status) status = lanner_environment_add_operator(environment, &numbers, error);
  return status;
}
