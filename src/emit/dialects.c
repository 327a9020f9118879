// SPDX-License-Identifier: Apache-2.0
//
// The dialects. In all of them f16 is its bits in a uint16_t.
#include "emit/dialect.h"

extern const char emit_text_kernel[], emit_text_gpu[], emit_text_half[];
extern const char emit_text_head_c[], emit_text_head_opencl[], emit_text_head_cuda[];
extern const char emit_text_head_gpu[], emit_text_head_memory[], emit_text_head_f64[];
extern const char emit_text_head_lanes[], emit_text_head_wide[], emit_text_head_long[];
extern const char emit_text_head_sift[];

// C11 as gcc and clang take it.
const Dialect emit_c = {
    .element_of_bool = "bool",
    .global = "",
    .address = "(uintptr_t)",
    .function = "static ",
    .math = "__builtin_",
    .math_has_suffix = true,
    .head = {emit_text_kernel, emit_text_head_c, emit_text_head_memory},
    .head_f64 = {emit_text_head_f64},
    .head_f16 = {emit_text_half},
    .head_lanes = {emit_text_head_lanes},
    .head_wide = {emit_text_head_wide},
    .head_long = {emit_text_head_long},
    .head_sift = {emit_text_head_sift},
};

// OpenCL C 1.2, with FP_CONTRACT off and correctly rounded division and roots.
const Dialect emit_opencl = {
    .element_of_bool = "uint8_t",
    .global = "__global ",
    .local = "__local ",
    .shared = "__local ",
    .address = "heap + ",
    .function = "static ",
    .entry = "__kernel ",
    .math = "",
    .head = {emit_text_head_opencl, emit_text_gpu, emit_text_head_gpu,
             emit_text_head_memory},
    .head_f64 = {"\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
                 emit_text_head_f64},
    .head_f16 = {emit_text_half},
};

// CUDA C as NVRTC takes it, with -fmad=false and the defaults of -ftz=false,
// -prec-div=true and -prec-sqrt=true.
const Dialect emit_cuda = {
    .element_of_bool = "bool",
    .global = "",
    .local = "",
    .shared = "__shared__ ",
    .address = "heap + ",
    .function = "static __device__ ",
    .entry = "extern \"C\" __global__ ",
    .math = "",
    .math_has_suffix = true,
    .head = {emit_text_head_cuda, emit_text_gpu, emit_text_head_gpu,
             emit_text_head_memory},
    .head_f64 = {emit_text_head_f64},
    .head_f16 = {emit_text_half},
};
