// SPDX-License-Identifier: Apache-2.0
//
// Arrays at run time: reference-counted, immutable to the user, any rank, strided so
// that views share their data. All memory comes from a heap, which knows every live
// array and can free them together when a computation is abandoned.
//
// Threads: a heap and its arrays are used by one thread at a time: by the one that has
// the turn, if there are several.
#ifndef WEFT_RT_ARRAY_H
#define WEFT_RT_ARRAY_H

#include "abi/scalar.h"
#include "base/mem.h"
#include "rt/turn.h"

typedef struct RtArray RtArray;
typedef struct RtCopy RtCopy;
typedef struct RtPiece RtPiece;

typedef struct RtHeap {
    Mem *mem;
    RtTurn *turn;   // of the threads that use it; NULL: there is one
    RtArray *live;  // all arrays, newest first
    bool keeps_turn; // while elements travel: who uses the heap may not have it to give
    // So far: arrays given memory of their own on the host, the bytes of that, and how
    // many of them are copies made because a kernel may not have the array itself.
    uint64_t made, made_bytes, copied;
} RtHeap;

struct RtArray {
    RtArray *next, *prev;  // in heap->live
    RtArray *base;         // whose memory a view uses (retained); NULL: its own
    void *memory;          // own memory, or NULL; of a lent array its RtLender
    size_t memory_size;
    size_t room;           // bytes of own memory, if there were to be more (rt_new_room)
    char *data;            // the element at index 0, ..., 0
    uint32_t refs;
    uint32_t rank;         // at least 1
    ScalarType elem;
    bool is_lent;          // the elements are a lender's: never written to
    bool is_away;          // the elements are on devices only (store.h), or promised and
                           // without memory; no views then
    bool is_coming;        // away, and on the way to the host: who wants it waits
    uint32_t pins;         // calls of kernels that use it: it stays where it is
    struct RtErrand *maker;  // of a promise: who keeps it; NULL: the elements are there
    uint64_t bits;         // of a scalar that was promised, once it is there
    bool stays;            // on the host, whatever happens: somebody may look at it
    uint32_t views;        // of this array's memory
    uint32_t made_in;      // the line of who kept the promise, plus 1; 0: none did
    RtCopy *copies;        // on devices
    RtPiece *pieces;       // arrays that together have the elements (store.h), or NULL
    int64_t *shape;        // rank sizes
    int64_t *strides;      // rank strides, in elements
};

// A scalar or an array: what parameters, results and the interpreter's slots hold.
typedef struct RtValue {
    ScalarType elem;
    uint32_t rank;   // 0: a scalar, in bits
    uint64_t bits;
    RtArray *array;  // owned reference when rank > 0
} RtValue;

void rt_heap_init(RtHeap *heap, Mem *mem);
// Frees every live array, whatever its count.
void rt_heap_free(RtHeap *heap);

// A row-major array of that shape with unspecified contents, with one reference.
// NULL when memory is short, a size is negative or the byte count overflows.
RtArray *rt_new(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape);
// The same with memory for up to so many rows, a good deal of it, until rt_fit says how
// many there are. NULL, too, where there is no memory to spare, or little wanted.
RtArray *rt_new_room(RtHeap *heap, ScalarType elem, uint32_t rank,
                     const int64_t *shape);
void rt_fit(RtHeap *heap, RtArray *a, int64_t rows);
// A view of a's memory; takes a reference of its own to what owns the memory.
RtArray *rt_view(RtHeap *heap, RtArray *a, char *data, uint32_t rank,
                 const int64_t *shape, const int64_t *strides);

// Who owns the elements of a lent array: `release`, unless NULL, is called once when
// the array and all views of it are gone.
typedef struct RtLender {
    void (*release)(void *data);
    void *data;
} RtLender;

// An array of a lender's elements, with strides of any sign, counted in elements: a view
// unless it is row-major. NULL, and nothing taken, when memory is short.
RtArray *rt_lent(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape,
                 const int64_t *strides, char *data, RtLender lender);
// Moves a's elements into row-major order without gaps, if they are not: into memory of
// its own. a must be a view, then. False, and a as before, when memory is short.
bool rt_make_contiguous(RtHeap *heap, RtArray *a);
// An array to come, which is away and of unknown shape until the maker keeps the
// promise, or, without a maker, until parts of it are made (rt_part); a scalar is
// promised as an array of rank 1, whose bits it will be. NULL when memory is short.
RtArray *rt_promise(RtHeap *heap, ScalarType elem, uint32_t rank, struct RtErrand *maker);
// Lets the promised array be what was made, whose only reference is consumed. A scalar's
// maker sets the bits and the maker to NULL itself.
void rt_keep_promise(RtHeap *heap, RtArray *promised, RtArray *made);
// Rows of a whole that has been promised: `count` from `first` on, of the `size` that it
// will have. NULL: of none.
typedef struct RtLay {
    RtArray *whole;
    int64_t first, count, size;
} RtLay;

// Gives a whole that is away memory for `size` rows like those of that shape. False when
// memory is short.
bool rt_begin_whole(RtHeap *heap, RtArray *whole, int64_t size, const int64_t *shape);
// A view of these rows, for its maker to fill; the whole gets its memory with its first
// part. NULL if that shape does not fit there, or memory is short.
RtArray *rt_part(RtHeap *heap, const RtLay *lay, const int64_t *shape);
RtArray *rt_retain(RtArray *a);
void rt_release(RtHeap *heap, RtArray *a);  // NULL is ignored
// Returns a itself if its elements lie in row-major order without gaps, else a copy.
// Consumes the reference to a; NULL (and a released) when memory is short.
RtArray *rt_contiguous(RtHeap *heap, RtArray *a);
bool rt_is_contiguous(const RtArray *a);
// Whether nobody else can see a's memory and each element has a place of its own, so
// that a may be overwritten. Never so for memory the heap does not own, nor for elements
// that devices have copies of.
bool rt_is_unshared(const RtArray *a);
int64_t rt_count(const RtArray *a);  // number of elements
uint64_t rt_load(ScalarType elem, const char *at);
void rt_store(ScalarType elem, char *at, uint64_t bits);
void rt_release_value(RtHeap *heap, RtValue *value);

// Copies elements of that many bytes between two strided regions of one shape, in
// row-major order; strides are in elements. The regions must not overlap.
void rt_copy_elements(char *to, const int64_t *to_strides, const char *from,
                      const int64_t *from_strides, uint32_t rank, const int64_t *shape,
                      size_t bytes);
// The bytes of an array of that shape. False when a size is negative or the count of
// bytes exceeds what memory can have; an array with a size of 0 has none.
bool rt_byte_count(ScalarType elem, uint32_t rank, const int64_t *shape,
                   size_t *bytes_out);

#endif
