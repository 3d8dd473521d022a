# Finds nvcc and turns .cu files into fatbins embedded as byte arrays.
set(LANNER_CUDA AUTO CACHE STRING "Compile CUDA kernels: AUTO (where nvcc is found), ON, OFF")
set_property(CACHE LANNER_CUDA PROPERTY STRINGS AUTO ON OFF)

# lanner_embed_cuda(<target> <source.cu>...)
function(lanner_embed_cuda target)
endfunction()
