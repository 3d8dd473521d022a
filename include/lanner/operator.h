#pragma once
/* A custom operator with its kernels, as a table of C functions: see docs/plugins.md for an example.
   C99; lanner_environment_add_operator() and lanner::Environment::add_operator() take it.

   Rules. Functions are called by any thread, also concurrently; only an instance is used by one call at a
   time. They must neither throw nor end the process. Each returns a lanner_status; where that is not
   LANNER_OK, the call of Lanner that led here fails with it and with the text written to `message`:
   LANNER_MESSAGE_BYTES bytes, initially an empty text, for one line that ends with 0. Arguments may be read
   during the call only. The same input must give the same output, bit by bit, at every call. */

#include <stddef.h>
#include <stdint.h>

#include <lanner/c_types.h>

#define LANNER_MESSAGE_BYTES 512
#define LANNER_MAX_DIMS 16

/* Ranks of a lanner_value other than 0 to LANNER_MAX_DIMS. */
#define LANNER_RANK_UNKNOWN (-1)
#define LANNER_ABSENT (-2) /* An optional input that the model omits. */
/* An unknown size that is not known to equal any other. */
#define LANNER_SIZE_UNKNOWN (-1)

/* The type of an input or output, as far as it is known. The structure never grows. */
typedef struct lanner_value {
  lanner_dtype dtype;
  int32_t rank;
  /* Sizes. A negative number is an unknown size: equal numbers are equal sizes, and an output uses an input's
     number to say that it has the same size; LANNER_SIZE_UNKNOWN is distinct from all others. */
  int64_t dims[LANNER_MAX_DIMS];
  /* Upper bounds of the sizes. Only read where an output's size is LANNER_SIZE_UNKNOWN. */
  int64_t max_dims[LANNER_MAX_DIMS];
  /* The elements of an integer input that is known before running and has at most 64, row-major, each
     widened to 64 bits; else null. Ignored for an output. */
  const int64_t* elements;
} lanner_value;

/* One application of an operator in a network. */
typedef struct lanner_node {
  size_t struct_size;
  /* A JSON object with the attributes given by the model, in the order of their names: {"axis": 1, "mode":
     "linear", "sizes": [1, 2], "scale": 0.5}. Reals that JSON cannot express are the texts "inf", "-inf" and
     "nan"; a tensor is {"dtype": "f32", "shape": [2], "data": [0.5, 1.0]}. */
  const char* attributes;
  size_t input_count;
  const lanner_value* inputs;
  size_t output_count;
  const lanner_value* outputs; /* Null for `infer` and `infer_at_run`, which compute them. */
} lanner_node;

/* The kernel that runs a node. */
typedef struct lanner_kernel {
  size_t struct_size;
  lanner_device_kind device;
  int32_t device_index;
  int32_t combination; /* Number of the combination of storages, from 0. */
  int32_t threads;     /* Number of threads of the caller's contexts. */
} lanner_kernel;

/* How a value is stored. The structure never grows. */
typedef struct lanner_storage {
  lanner_dtype dtype;
  /* Texts of lanner::Layout: `row` (dense row-major of any rank), or one letter per dimension in memory
     order (`acdb` is channels last), capitals for dimensions that have blocks (`aBcd16b`). The last block of
     a dimension is padded with zeros, which kernels may rely on and must write. Must stay valid as long as
     the operator. */
  const char* layout;
} lanner_storage;

/* A tensor in memory. */
typedef struct lanner_operand {
  size_t struct_size;
  lanner_dtype dtype; /* As it is stored. */
  int32_t rank;       /* LANNER_ABSENT for an omitted input: `data` is null then. */
  const int64_t* dims;
  const int64_t* strides; /* In elements; null where the layout has blocks. */
  const char* layout;     /* As in lanner_storage. */
  void* data;             /* On the kernel's device. Inputs must not be written to. */
  uint64_t bytes;         /* Size of `data`, padding included. */
} lanner_operand;

typedef struct lanner_operator {
  size_t struct_size;
  const char* name; /* `domain.name`, such as `acme.scale`: ONNX's domain and operator. Copied. */
  /* Version of the kernels: timings, check results and plans' kernels of other versions are not reused. */
  uint32_t version;
  uint32_t reserved;              /* 0. */
  int32_t min_inputs, max_inputs; /* max -1: any number. */
  int32_t min_outputs, max_outputs;
  void* user; /* Passed to every function; must stay valid until the process ends. */

  /* Infers the types of the outputs from those of the inputs, which may be partly known: `outputs` is the
     node's output_count values, with unknown dtype (-1) and rank. When all input sizes are known it must set
     all output sizes too, except those that depend on input values. Required. */
  lanner_status (*infer)(void* user, const lanner_node* node, lanner_value* outputs, char* message);
  /* Computes data-dependent sizes of outputs, which `infer` leaves unknown, from the inputs themselves,
     row-major in host memory. Null: there are none. Such a node runs by `reference`. */
  lanner_status (*infer_at_run)(void* user, const lanner_node* node, const lanner_operand* inputs,
                                lanner_value* outputs, char* message);
  /* The operator's definition: row-major in host memory, of the node's own types. Kernels are compared with
     it. Null: the kernel for such operands is used, which must then exist. */
  lanner_status (*reference)(void* user, const lanner_node* node, const lanner_operand* inputs,
                             const lanner_operand* outputs, char* message);

  /* Storages of combination `kernel->combination` on `kernel->device`: on entry all have the node's own types
     and are row-major, so plain ones need no change. LANNER_NOT_FOUND: there are no more; LANNER_UNSUPPORTED:
     not this one, but there may be more (at most 64 are queried). Null: one on the CPU, all plain. */
  lanner_status (*supports)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                            lanner_storage* inputs, lanner_storage* outputs, char* message);
  /* Bytes of scratch memory on the kernel's device for one run, aligned to 64. Null: none. */
  lanner_status (*workspace)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                             uint64_t* bytes, char* message);
  /* Creates an instance: the state for one run at a time. No two concurrent runs share one, and a run may get
     any of them. On a GPU work of an earlier run may still be pending: runs must write only to the workspace
     there. Null: `instance` is always null. */
  lanner_status (*create)(void* user, const lanner_node* node, const lanner_kernel* kernel, void** instance,
                          char* message);
  void (*destroy)(void* user, void* instance);
  /* State of an instance made by create() that plans store, at most 64 KiB: sets `*size`, and writes the
     bytes where `capacity` is large enough. All instances but the first, and those of loaded plans, are made
     from it by deserialise(), which must validate it. Both or neither; only with create(). */
  lanner_status (*serialise)(void* user, const void* instance, void* bytes, size_t capacity, size_t* size,
                             char* message);
  lanner_status (*deserialise)(void* user, const lanner_node* node, const lanner_kernel* kernel,
                               const void* bytes, size_t size, void** instance, char* message);
  /* Runs the kernel. On a GPU it only queues work on `stream`, a CUstream of its device, whose context is
     current. Null: the node runs by `reference`, and there are no kernels. */
  lanner_status (*run)(void* user, void* instance, const lanner_operand* inputs,
                       const lanner_operand* outputs, void* workspace, void* stream, char* message);
} lanner_operator;
