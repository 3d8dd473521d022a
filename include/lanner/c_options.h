#pragma once
/* What builds, loads, contexts and videos can be told, and what engines tell of inputs and outputs. C99; see
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
typedef struct lanner_image_input {
  const char* input;
  const char* format;     /* Of all its images, as in lanner_image_info; null: any. */
  const char* preprocess; /* Sizes that are left out are the model's. */
} lanner_image_input;

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
  const char* image;   /* Of an input that takes images: their format's name, or `any`; else empty. */
  int32_t defaulted;   /* Not 0: an input that need not be bound, as the model has a value for it. */
} lanner_binding;

/* What builds and loads share beside the model. Engines keep what they were given: changes are for engines
   that are made later, and an environment may be destroyed before them. What it does not say is the
   process's. What a function's `user` points to has to last until those engines are gone, their contexts and
   the tensors that came of them. One thread at a time. */
typedef struct lanner_environment lanner_environment;

/* Called on the caller's thread while a long call runs, with a stage's name and how far it is; `total` is 0
   when it is not known. Any result but 0 ends the call with LANNER_CANCELLED. */
typedef int (*lanner_progress)(void* user, const char* stage, double done, double total);

typedef struct lanner_build_options {
  size_t struct_size;
  const char* precision; /* Types that kernels may compute in: `fp32` (null), `fp16,bf16,fp32`. */
  double budget;         /* Seconds that timing kernels may take; 0 is 10, below 0 nothing is timed. */
  int32_t threads;       /* Of contexts; 0 takes the machine's cores. */
  int32_t deterministic; /* Not 0: the same input gives the same plan, nothing is timed. */
  const char* device;    /* `cpu` (null), `auto`, `cuda:0`, or several GPUs: `cuda:0,cuda:1`. */
  /* For inputs whose model leaves sizes open. Kernels are timed by the build where the sizes of all inputs
     are known, else chosen by estimates at the first run of each set of shapes. */
  const lanner_shape_range* shapes;
  size_t shape_count;
  const lanner_input_preprocess* preprocess;
  size_t preprocess_count;
  lanner_progress progress;
  void* progress_user;
  int32_t retune;   /* Not 0: kernels are timed again that earlier builds have timed. */
  int32_t reserved; /* 0. */
  /* What the model may make the build and the engine's contexts do, as `total_bytes=4GiB,seconds=60`: by the
     names of lanner::Limits, comma separated. Null: the defaults. */
  const char* limits;
  /* The opt shapes of each are tuned; other shapes of one take over its kernels, and those in none run. */
  const lanner_profile* profiles;
  size_t profile_count;
  /* The first that matches a node counts for it. */
  const lanner_precision_pin* pins;
  size_t pin_count;
  /* Not 0: a node that no kernel computes in `precision` or its pin, or where it is placed, is an error. */
  int32_t strict;
  int32_t exact; /* Not 0: no kernels that compute by another formula (Winograd). */
  /* Values that each context keeps: the output's after a run is the input's at the next one. */
  const lanner_pair* states;
  size_t state_count;
  /* Outputs that are written into the memory bound to an input. */
  const lanner_pair* aliases;
  size_t alias_count;
  /* Inputs whose memory a run may write over: they are to be written or bound anew before each run. */
  const char* const* overwritable;
  size_t overwritable_count;
  /* Of inputs and outputs that are not held row-major in the model's type. */
  const lanner_binding_storage* storages;
  size_t storage_count;
  const lanner_environment* environment; /* Null: no operators beside Lanner's own. */
  const lanner_image_input* images;   /* Inputs that take images of any size, not tensors. */
  size_t image_count;
  uint64_t weight_budget;            /* As lanner_engine_set_weight_budget. */
  const lanner_placed_nodes* placed; /* The first that matches a node counts for it. */
  size_t placed_count;
  /* Names of values inside the model that the engine gives, in this order, instead of the model's outputs. */
  const char* const* outputs;
  size_t output_count;
  /* Beside the model's own, which it replaces under an equal key; kept in the plan. `lanner.preprocess` is
     refused: preprocessing has an option of its own. */
  const lanner_metadata* metadata;
  size_t metadata_count;
  /* Not 0: kernels for shapes that are new to the engine are timed at their first run, which takes up to
     `budget`; not kept in plans. 0: those of sizes that the build was not told are chosen by estimates. */
  int32_t tune_at_run;
  int32_t reserved_2; /* 0. */
  /* Initialisers that the model lists among its inputs: inputs of the engine, which need not be bound. */
  const char* const* overridden;
  size_t overridden_count;
  const char* weights; /* Of a Caffe network in text (.prototxt): the path of its .caffemodel; else null. */
} lanner_build_options;

typedef struct lanner_load_options {
  size_t struct_size;
  int32_t threads;    /* 0 takes what the plan was built for, at most the machine's cores. */
  int32_t reserved;   /* 0. */
  const char* limits; /* As of lanner_build_options. */
  /* For a plan that was saved without weights: the path of the model, of a safetensors file or of a plan that
     has them; null where the plan has its own. */
  const char* weights;
  const lanner_environment* environment; /* With the operators that the plan needs; null: none. */
  uint64_t weight_budget;                /* As lanner_engine_set_weight_budget. */
  int32_t tune_at_run; /* As of lanner_build_options, within the budget of the plan's build. */
  int32_t verify; /* Not 0: LANNER_BAD_DATA where the plan computes something other than its portable IR says,
                     which running it on random inputs tells; a plan's digest is no signature. */
} lanner_load_options;

typedef struct lanner_verify_options {
  size_t struct_size;
  uint64_t seed;                    /* Of the random inputs. */
  int32_t runs;                     /* Of each node, and of the network in each context; 0 is 10. */
  int32_t contexts;                 /* At work at once; 0 is 2. */
  int32_t threads;                  /* Of each context; 0 takes the engine's. */
  int32_t reserved;                 /* 0. */
  const lanner_shape_range* shapes; /* The opt ones count; others have the engine's, else some that fit. */
  size_t shape_count;
  const char* reproducer; /* Gets the first node that differs as an ONNX model; null: nothing is written. */
  lanner_progress progress;
  void* progress_user;
} lanner_verify_options;

typedef struct lanner_context_options {
  size_t struct_size;
  int32_t threads;  /* Fixed for the context's life; 0 takes the engine's. */
  int32_t reserved; /* 0. */
} lanner_context_options;

typedef struct lanner_video_options {
  size_t struct_size;
  int32_t threads;        /* Of the decoder; 0 takes the machine's cores. */
  int32_t raise_on_error; /* Not 0: damage is LANNER_BAD_DATA instead of being concealed. */
  const char* limits;     /* As of lanner_build_options, of reading the file. */
} lanner_video_options;
