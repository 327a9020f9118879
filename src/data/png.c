// SPDX-License-Identifier: Apache-2.0
//
// Images as PNG, through libpng. In: every PNG becomes 8 bits a channel, as [h][w]u8
// (grey), [h][w][3]u8 (colour) or [h][w][4]u8 (whatever has transparency); palettes are
// looked up, 16 bits rounded to 8, interlaced images put in order; all but the pixels
// (colour profiles, gamma, texts, the frames of an animation) is skipped unread. Out:
// those types, and floats from 0 to 1.
//
// libpng reports errors by longjmp to its caller. Each function that calls it has all
// its state in a record behind a pointer, and nothing else unwinds through it.
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "abi/half.h"
#include "data/file.h"

enum { MESSAGE = 160 };

typedef struct Png {
    png_structp png;
    png_infop info;
    FileHeap heap;
    jmp_buf escape;
    char message[MESSAGE];
    Str left; // reading: the bytes not yet taken
    DataSink *sink;
    size_t width, height, channels;
    char *pixels;  // reading: where they go
    png_bytep row; // writing: one row
} Png;

static void handle_error(png_structp png, png_const_charp text) {
    Png *p = png_get_error_ptr(png);
    snprintf(p->message, sizeof p->message, "%s", text);
    longjmp(p->escape, 1);
}

static void ignore_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
    return file_heap_alloc(png_get_mem_ptr(png), size);
}

static void release(png_structp png, png_voidp block) {
    file_heap_free(png_get_mem_ptr(png), block);
}

// ---- reading ------------------------------------------------------------------------

static void take_bytes(png_structp png, png_bytep to, size_t size) {
    Png *p = png_get_io_ptr(png);
    if (size > p->left.len) png_error(png, "the file is cut short");
    memcpy(to, p->left.ptr, size);
    p->left.ptr += size;
    p->left.len -= size;
}

// Reads up to the pixels and asks for 8 bits a channel. Returns false, with the reason
// in message, if libpng gave up.
static bool read_start(Png *p) {
    if (setjmp(p->escape) != 0) return false;
    p->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, handle_error,
                                      ignore_warning, &p->heap, allocate, release);
    if (p->png == NULL) return false;
    p->info = png_create_info_struct(p->png);
    if (p->info == NULL) return false;
    png_set_read_fn(p->png, p, take_bytes);
    png_set_user_limits(p->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_keep_unknown_chunks(p->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(p->png, p->info);
    png_set_expand(p->png);
    png_set_scale_16(p->png);
    int type = png_get_color_type(p->png, p->info);
    bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                     png_get_valid(p->png, p->info, PNG_INFO_tRNS) != 0;
    if (has_alpha) png_set_gray_to_rgb(p->png);
    p->width = png_get_image_width(p->png, p->info);
    p->height = png_get_image_height(p->png, p->info);
    p->channels = has_alpha ? 4 : (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    return true;
}

static bool read_pixels(Png *p) {
    if (setjmp(p->escape) != 0) return false;
    int passes = png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    size_t stride = p->width * p->channels;
    if (png_get_rowbytes(p->png, p->info) != stride)
        png_error(p->png, "a row has an unexpected length");
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < p->height; y++)
            png_read_row(p->png, (png_bytep)p->pixels + y * stride, NULL);
    png_read_end(p->png, NULL);
    return true;
}

// Deflate packs at most 1032 bytes into one; a header that promises more than that is
// lying. Source: the maximum length of a match, 258, in a quarter of a byte (RFC 1951).
static bool is_plausible(const Png *p, size_t file_size) {
    int depth = png_get_bit_depth(p->png, p->info);
    size_t bits = (size_t)depth * png_get_channels(p->png, p->info);
    size_t row = (p->width * bits + 7) / 8 + 1; // widths have 31 bits
    return row <= SIZE_MAX / p->height && row * p->height / 1032 <= file_size;
}

static Status fail_png(FileIn *in, Png *p) {
    png_destroy_read_struct(&p->png, &p->info, NULL);
    if (p->heap.has_failed) mem_fail(p->heap.mem);
    return file_fail(in, "the PNG is damaged: %s", p->message);
}

Status file_read_png(FileIn *in, RtValue *value_out) {
    if (in->bytes.len < 8 || png_sig_cmp((png_const_bytep)in->bytes.ptr, 0, 8) != 0)
        return file_fail(in, "this is no PNG: it does not begin as one");
    Png *p = arena_new(in->arena, Png);
    p->heap.mem = in->heap->mem;
    p->left = in->bytes;
    if (!read_start(p)) return fail_png(in, p);
    if (!is_plausible(p, in->bytes.len)) {
        snprintf(p->message, sizeof p->message,
                 "it promises %zu x %zu pixels, which its %zu bytes cannot hold",
                 p->width, p->height, in->bytes.len);
        return fail_png(in, p);
    }
    int64_t shape[3] = {(int64_t)p->height, (int64_t)p->width, (int64_t)p->channels};
    uint32_t rank = p->channels == 1 ? 2 : 3;
    RtArray *array = rt_new(in->heap, SCALAR_U8, rank, shape);
    p->heap.has_failed = array == NULL;
    if (array == NULL) return fail_png(in, p);
    p->pixels = array->data;
    if (!read_pixels(p)) {
        rt_release(in->heap, array);
        return fail_png(in, p);
    }
    png_destroy_read_struct(&p->png, &p->info, NULL);
    *value_out = (RtValue){.elem = SCALAR_U8, .rank = rank, .array = array};
    return STATUS_OK;
}

// ---- writing ------------------------------------------------------------------------

const char *file_png_refuses(const RtValue *value) {
    bool is_shade = value->elem == SCALAR_U8 || scalar_is_float(value->elem);
    if (!is_shade || value->rank < 2 || value->rank > 3)
        return "an image is [h][w]u8, [h][w][3]u8 or [h][w][4]u8, or floats from 0 "
               "to 1 in place of u8";
    const int64_t *shape = value->array->shape;
    if (value->rank == 3 && shape[2] != 3 && shape[2] != 4)
        return "a pixel has 3 channels (red, green, blue) or 4 (and opacity)";
    if (shape[0] == 0 || shape[1] == 0) return "a PNG has at least one pixel";
    if (shape[0] > PNG_UINT_31_MAX || shape[1] > (PNG_UINT_31_MAX - 1) / 4)
        return "the image is too large for a PNG";
    return NULL;
}

// A float from 0 to 1 as 0 ... 255, to the nearest; NaN is 0.
static png_byte shade(ScalarType elem, uint64_t bits) {
    if (elem == SCALAR_U8) return (png_byte)bits;
    double x;
    uint32_t low = (uint32_t)bits;
    float narrow;
    memcpy(&x, &bits, sizeof x);
    memcpy(&narrow, &low, sizeof narrow);
    if (elem == SCALAR_F32) x = narrow;
    if (elem == SCALAR_F16) x = half_to_double((uint16_t)bits);
    if (!(x > 0)) return 0;
    return x >= 1 ? 255 : (png_byte)floor(x * 255 + 0.5);
}

static void put_bytes(png_structp png, png_bytep bytes, size_t size) {
    Png *p = png_get_io_ptr(png);
    data_put(p->sink, (const char *)bytes, size);
    if (p->sink->has_failed) png_error(png, "cannot write");
}

static void flush_nothing(png_structp png) {
    (void)png;
}

static void fill_row(Png *p, const RtArray *a, size_t y) {
    size_t width = scalar_info[a->elem].bytes;
    const char *row = a->data + (int64_t)y * a->strides[0] * (int64_t)width;
    int64_t across = a->strides[1], deep = a->rank == 3 ? a->strides[2] : 0;
    png_byte *to = p->row;
    for (size_t x = 0; x < p->width; x++)
        for (size_t c = 0; c < p->channels; c++) {
            int64_t at = (int64_t)x * across + (int64_t)c * deep;
            *to++ = shade(a->elem, rt_load(a->elem, row + at * (int64_t)width));
        }
}

static bool write_image(Png *p, const RtArray *array) {
    if (setjmp(p->escape) != 0) return false;
    p->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, p, handle_error,
                                       ignore_warning, &p->heap, allocate, release);
    if (p->png == NULL) return false;
    p->info = png_create_info_struct(p->png);
    if (p->info == NULL) return false;
    png_set_write_fn(p->png, p, put_bytes, flush_nothing);
    png_set_user_limits(p->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    int type = p->channels == 1   ? PNG_COLOR_TYPE_GRAY
               : p->channels == 3 ? PNG_COLOR_TYPE_RGB
                                  : PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_IHDR(p->png, p->info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
                 type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(p->png, p->info);
    for (size_t y = 0; y < p->height; y++) {
        fill_row(p, array, y);
        png_write_row(p->png, p->row);
    }
    png_write_end(p->png, NULL);
    return true;
}

void file_write_png(DataSink *sink, const RtValue *value, Arena *arena) {
    const RtArray *array = value->array;
    Png *p = arena_new(arena, Png);
    p->heap.mem = arena->mem;
    p->sink = sink;
    p->height = (size_t)array->shape[0];
    p->width = (size_t)array->shape[1];
    p->channels = array->rank == 3 ? (size_t)array->shape[2] : 1;
    p->row = arena_alloc(arena, p->width * p->channels);
    if (!write_image(p, array)) sink->has_failed = true;
    png_destroy_write_struct(&p->png, &p->info);
    if (p->heap.has_failed) mem_fail(p->heap.mem);
}
