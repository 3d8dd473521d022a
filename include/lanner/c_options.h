#pragma once
/* What builds are told of a model's inputs, outputs and nodes, and what engines tell of theirs. C99; see
 * <lanner/c.h> for its rules. */

#include <stddef.h>
#include <stdint.h>

#include <lanner/c_types.h>

/* Sizes that one input may have: `rank` numbers each. `opt`, what kernels are timed for, and `max` may be
   null: they are then `min`. The structure never grows. */
typedef struct lanner_shape_range {
  const char* input;
  size_t rank;
  const int64_t* min;
  const int64_t* opt;
  const int64_t* max;
} lanner_shape_range;

/* How pictures that are bound to one input become tensors. The structure never grows. */
typedef struct lanner_input_preprocess {
  const char* input;
  const char* preprocess;
} lanner_input_preprocess;

/* An input that takes images, which the engine's device reads where they lie. The structure never grows. */
typedef struct lanner_input_picture {
  const char* input;
  const char* format;     /* Of all its images, as in lanner_image_info; null: any. */
  const char* preprocess; /* Sizes that are left out are the model's. */
} lanner_input_picture;

/* Ranges of shapes to be ready for. The structure never grows. */
typedef struct lanner_profile {
  const lanner_shape_range* shapes; /* By input; one that is not named may have any sizes. */
  size_t shape_count;
} lanner_profile;

/* A type that certain nodes are to be computed in. The structure never grows. */
typedef struct lanner_precision_pin {
  const char* pattern; /* Of the names of the model's nodes; `*` stands for any characters, `?` for one. */
  const char* type;    /* `fp32`, `fp16`, `bf16`. */
} lanner_precision_pin;

/* A device that certain nodes are to run on. The structure never grows. */
typedef struct lanner_placed_nodes {
  const char* pattern; /* As of lanner_precision_pin. */
  const char* device;  /* `cpu`, or a GPU of lanner_build_options.device. */
} lanner_placed_nodes;

/* Input and output of a state or an alias. The structure never grows. */
typedef struct lanner_pair {
  const char* input;
  const char* output;
} lanner_pair;

/* A text that an engine says of itself under a key. The structure never grows. */
typedef struct lanner_metadata {
  const char* key;
  const char* value;
} lanner_metadata;

/* How callers hold an input or output: `acdb:f16`, `row:u8:pitch=640`, `any`. The structure never grows. */
typedef struct lanner_binding_storage {
  const char* name;
  const char* storage;
} lanner_binding_storage;

/* An input or output. Pointers are valid as long as the engine. */
typedef struct lanner_binding {
  size_t struct_size; /* Set by the caller; what lies beyond the library's own structure is zeroed. */
  const char* name;
  lanner_dtype dtype;
  int32_t sequence; /* Not 0: a sequence or optional, which this interface can neither bind nor give out. */
  int32_t ranked;   /* 0: any number of dims, `rank` is 0. */
  size_t rank;
  const int64_t* dims; /* -1 where the size is open. */
  const char* storage; /* How tensors lie in memory: `row`, `acdb`, `f16 aBcd16b`; `dtype` is theirs. */
  int32_t state;       /* Not 0: takes part in a state; as an input it need not be bound. */
  int32_t overwritten; /* Not 0: a run may write over what is bound to this input. */
  const char* picture; /* Of an input that takes images: their format's name, or `any`; else empty. */
  int32_t defaulted;   /* Not 0: an input that need not be bound, as the model has a value for it. */
} lanner_binding;
