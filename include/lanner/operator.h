#pragma once
/* An operator with kernels from outside of Lanner, as a table of C functions: see docs/plugins.md for an
   example. C99; lanner_environment_add_operator() and lanner::Environment::add_operator() take it.

   Rules. Functions are called by any thread, several at the same time; only an instance belongs to one call
   at a time. They neither throw nor end the process. Each returns a lanner_status; where that is not
   LANNER_OK the call that led here fails with it and with what was written to `message`: LANNER_MESSAGE_BYTES
   bytes, at first an empty text, for one line that ends with 0. Whatever is passed in may be read during the
   call only. The same input gives the same output, in every bit and however often it is asked. */

#include <stddef.h>
#include <stdint.h>

#include <lanner/c_types.h>

#define LANNER_MESSAGE_BYTES 512
#define LANNER_MAX_DIMS 16

/* Ranks of a lanner_value beside 0 to LANNER_MAX_DIMS. */
#define LANNER_RANK_UNKNOWN (-1)
#define LANNER_ABSENT (-2) /* An optional input that the model leaves out. */
/* A size that is not known and that nothing is known to equal. */
#define LANNER_SIZE_UNKNOWN (-1)

/* The type of an input or output, as far as it is known. The structure never grows. */
typedef struct lanner_value {
  lanner_dtype dtype;
  int32_t rank;
  /* Sizes. A number below 0 is a size that is not known: equal numbers are equal sizes, and an output takes
     over an input's to say that it has the same; LANNER_SIZE_UNKNOWN is one of its own. */
  int64_t dims[LANNER_MAX_DIMS];
  /* The largest that each may be. Only looked at where an output's size is LANNER_SIZE_UNKNOWN. */
  int64_t max_dims[LANNER_MAX_DIMS];
  /* Elements of an input of integers that is known before running and has at most 64, row-major, each widened
     to 64 bits; else null. Of an output: left alone. */
  const int64_t* elements;
} lanner_value;

/* One application of an operator in a network. */
typedef struct lanner_node {
  size_t struct_size;
  /* An object in JSON with the attributes that the model gives, in the order of their names:
     {"axis": 1, "mode": "linear", "sizes": [1, 2], "scale": 0.5}. Reals that JSON cannot say are the texts
     "inf", "-inf" and "nan"; a tensor is {"dtype": "f32", "shape": [2], "data": [0.5, 1.0]}. */
  const char* attributes;
  size_t input_count;
  const lanner_value* inputs;
  size_t output_count;
  const lanner_value* outputs; /* Null for `infer` and `infer_at_run`, which find them. */
} lanner_node;

/* Which of its kernels a node runs by. */
typedef struct lanner_kernel {
  size_t struct_size;
  lanner_device_kind device;
  int32_t device_index;
  int32_t combination; /* Number of the combination of storages, from 0. */
  int32_t threads;     /* That the caller's contexts run with. */
} lanner_kernel;

/* How a value is stored. The structure never grows. */
typedef struct lanner_storage {
  lanner_dtype dtype;
  /* Texts of lanner::Layout: `row` (dense row-major of any rank), or one letter a dimension in the order in
     memory (`acdb` is channels last), capitals for dimensions that have blocks (`aBcd16b`). Blocks at an end
     are padded with zeros, which kernels may rely on and have to write. Has to stay for as long as the
     operator. */
  const char* layout;
} lanner_storage;

/* A tensor in memory. */
typedef struct lanner_operand {
  size_t struct_size;
  lanner_dtype dtype; /* As it is stored. */
  int32_t rank;       /* LANNER_ABSENT for an input that is left out: `data` is null then. */
  const int64_t* dims;
  const int64_t* strides; /* In elements; null where the layout has blocks. */
  const char* layout;     /* As in lanner_storage. */
  void* data;             /* An input's must not be written to. On the kernel's device. */
  uint64_t bytes;         /* Of `data`, padding included. */
} lanner_operand;

typedef struct lanner_operator {
  size_t struct_size;
  const char* name; /* `domain.name`, as `acme.scale`: ONNX's domain and operator. Copied. */
  /* Of the kernels: timings, verdicts and kernels of plans that another one made are not taken over. */
  uint32_t version;
  uint32_t reserved;              /* 0. */
  int32_t min_inputs, max_inputs; /* max -1: any number. */
  int32_t min_outputs, max_outputs;
  void* user; /* Handed to every function; has to last until the process ends. */

  /* Types of the outputs from those of the inputs, which may be known in part: `outputs` is the node's
     output_count values, of unknown dtype (-1) and rank. Asked with all sizes known it has to know all of an
     output's too, but those that only the values of inputs tell. Required. */
  lanner_status (*infer)(void* user, const lanner_node* node, lanner_value* outputs, char* message);
  /* Of outputs whose sizes `infer` does not know though all inputs are: from the inputs themselves, row-major
     in host memory. Null: there are none. Such a node runs by `reference`. */
  lanner_status (*infer_at_run)(void* user, const lanner_node* node, const lanner_operand* inputs,
                                lanner_value* outputs, char* message);
  /* What the operator means: row-major in host memory, of the node's own types. Kernels are compared with it.
     Null: the kernel for such operands, which there has to be then. */
  lanner_status (*reference)(void* user, const lanner_node* node, const lanner_operand* inputs,
                             const lanner_operand* outputs, char* message);

  /* Storages of combination `kernel->combination` on `kernel->device`: at the call all are of the node's own
     types and row-major, so there is nothing to write for plain ones. LANNER_NOT_FOUND: there are no more;
     LANNER_UNSUPPORTED: not this one, but there may be more (at most 64 are asked for). Null: one on the CPU,
     all plain. */
  lanner_status (*supports)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                            lanner_storage* inputs, lanner_storage* outputs, char* message);
  /* Bytes of scratch memory on the kernel's device for one run, aligned to 64. Null: none. */
  lanner_status (*workspace)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                             uint64_t* bytes, char* message);
  /* An instance: what one run at a time needs. No two runs have the same one at the same time, and a run may
     have any. On a GPU work of an earlier run may go on meanwhile: memory there that runs write to is the
     workspace. Null: `instance` is null always. */
  lanner_status (*create)(void* user, const lanner_node* node, const lanner_kernel* kernel, void** instance,
                          char* message);
  void (*destroy)(void* user, void* instance);
  /* What an instance that create() made knows and a plan is to keep, at most 64 KiB: sets `*size`, and writes
     where `capacity` is as large. All instances but the first, and those of loaded plans, are made from it by
     deserialise(), which trusts none of it. Both or none; only with create(). */
  lanner_status (*serialise)(void* user, const void* instance, void* bytes, size_t capacity, size_t* size,
                             char* message);
  lanner_status (*deserialise)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                               const void* bytes, size_t size, void** instance, char* message);
  /* Runs. On a GPU it only queues work on `stream`, a CUstream of its device, whose context is current. Null:
     the node runs by `reference`, and there are no kernels. */
  lanner_status (*run)(void* user, void* instance, const lanner_operand* inputs,
                       const lanner_operand* outputs, void* workspace, void* stream, char* message);
} lanner_operator;
