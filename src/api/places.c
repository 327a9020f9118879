// SPDX-License-Identifier: Apache-2.0
//
// The devices of a context: "cpu", "cpu*3", "opencl:0", several with commas between, or
// "all" (places.h).
#include "api/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

enum { MOST_PLACES = 64 };

// ---- naming -------------------------------------------------------------------------

typedef struct PlaceList {
    ApiPlace *data;
    uint32_t len, cap;
} PlaceList;

static bool is_of_cores(Str address) {
    return address.len >= 3 && memcmp(address.ptr, "cpu", 3) == 0;
}

// "64M": a size in KiB, MiB, GiB.
static bool read_memory(const char *text, size_t *bytes_out) {
    static const char units[] = "KMG";
    char *end;
    unsigned long long count = strtoull(text, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end & ~0x20) : NULL;
    if (text[0] < '1' || text[0] > '9' || unit == NULL || end[1] != '\0') return false;
    unsigned shift = 10 * (unsigned)(unit - units + 1);
    *bytes_out = (size_t)count << shift;
    return count <= SIZE_MAX >> shift;
}

static bool read_speed(const char *text, double *speed_out) {
    char *end;
    *speed_out = strtod(text, &end);
    return end != text && *end == '\0' && *speed_out >= 0.01 && *speed_out <= 1;
}

// What is behind "@" leaves the address: of cores with a number a share of their full
// speed, of others how much of their memory may be used.
static WeftStatus take_share(WeftContext *context, Str *address, ApiPlace *place) {
    const char *at = memchr(address->ptr, '@', address->len);
    place->speed = 1;
    if (at == NULL) return WEFT_STATUS_OK;
    char text[16] = "";
    size_t len = address->len - (size_t)(at + 1 - address->ptr);
    if (len < sizeof text) memcpy(text, at + 1, len);
    Str name = {address->ptr, (size_t)(at - address->ptr)};
    bool is_fine = is_of_cores(name) ? name.len > 3 && read_speed(text, &place->speed)
                                     : read_memory(text, &place->memory);
    if (!is_fine)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "`%.*s`: cores can be slowed down to a share of their speed "
                        "from 0.01 to 1, as in cpu:1@0.33, and other devices have a "
                        "part of their memory, as in opencl:0@2G",
                        STR_ARG(*address));
    *address = name;
    return WEFT_STATUS_OK;
}

static WeftStatus add(WeftContext *context, PlaceList *list, Str address) {
    ApiPlace place = {.threads = context->options.threads,
                      .is_shared = str_eq(address, STR("cpu"))};
    WeftStatus status = take_share(context, &address, &place);
    if (status != WEFT_STATUS_OK) return status;
    if (address.len == 0)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "a device of `%s` has no name; `weft devices` lists them",
                        context->devices);
    if (address.len >= sizeof place.address)
        return api_fail(context, WEFT_STATUS_USAGE, "there is no device `%.*s`",
                        STR_ARG(address));
    memcpy(place.address, address.ptr, address.len);
    for (uint32_t i = 0; i < list->len; i++)
        if (strcmp(list->data[i].address, place.address) == 0)
            return api_fail(context, WEFT_STATUS_USAGE, "device %s is named twice",
                            place.address);
    if (list->len == MOST_PLACES)
        return api_fail(context, WEFT_STATUS_USAGE, "more than %d devices",
                        MOST_PLACES);
    vec_push(&context->scratch, list, place);
    return WEFT_STATUS_OK;
}

// "cpu*K": the cores in K devices that share the host's memory.
static WeftStatus add_parts(WeftContext *context, PlaceList *list, Str word) {
    unsigned long count = 0;
    for (size_t i = 4; i < word.len && word.ptr[i] >= '0' && word.ptr[i] <= '9'; i++)
        count = count < 1000 ? 10 * count + (unsigned long)(word.ptr[i] - '0') : count;
    if (count < 1 || count > MOST_PLACES || word.len > 6)
        return api_fail(context, WEFT_STATUS_USAGE,
                        "`%.*s`: the cores can be 1 to %d devices, as in cpu*4",
                        STR_ARG(word), MOST_PLACES);
    unsigned threads = context->options.threads;
    if (threads == 0) threads = thread_cores();
    for (unsigned long i = 0; i < count; i++) {
        char address[DEVICE_ADDRESS];
        snprintf(address, sizeof address, "cpu:%u", (unsigned)i);
        WeftStatus status = add(context, list, str_of(address));
        if (status != WEFT_STATUS_OK) return status;
        ApiPlace *place = &list->data[list->len - 1];
        place->is_shared = true;
        place->threads = threads / (unsigned)count;
        if (place->threads == 0) place->threads = 1;
    }
    return WEFT_STATUS_OK;
}

// The processor and every GPU that can run kernels.
static WeftStatus add_all(WeftContext *context, PlaceList *list) {
    DeviceInfo *infos;
    uint32_t count = dev_list(&context->scratch, &infos);
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].cannot != NULL) continue;
        if (infos[i].is_processor && infos[i].kind != DEVICE_CPU) continue;
        WeftStatus status = add(context, list, str_of(infos[i].address));
        if (status != WEFT_STATUS_OK) return status;
    }
    return WEFT_STATUS_OK;
}

static WeftStatus name_places(WeftContext *context, PlaceList *list) {
    Str rest = str_of(context->devices);
    if (rest.len == 0) return add(context, list, STR("cpu"));
    for (bool more = true; more;) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        Str word = {rest.ptr, comma != NULL ? (size_t)(comma - rest.ptr) : rest.len};
        more = comma != NULL;
        rest.ptr += word.len + more;
        rest.len -= word.len + more;
        bool is_parts = word.len >= 4 && memcmp(word.ptr, "cpu*", 4) == 0;
        WeftStatus status = str_eq(word, STR("all")) ? add_all(context, list)
                            : is_parts               ? add_parts(context, list, word)
                                                     : add(context, list, word);
        if (status != WEFT_STATUS_OK) return status;
    }
    return WEFT_STATUS_OK;
}

// ---- opening ------------------------------------------------------------------------

// `count` places, and the one that may be all of them.
static void close_places(WeftContext *context, ApiPlace *places, uint32_t count) {
    for (uint32_t i = 0; i < count + 1; i++) {
        rt_team_free(places[i].team);
        if (places[i].device == NULL) continue;
        rt_leave(&context->heap, places[i].device);
        dev_close(places[i].device);
    }
    mem_free(&context->mem, places, (count + 1) * sizeof *places);
}

static void record_transfer(Device *device, bool is_write, size_t bytes,
                            uint64_t began) {
    WeftContext *context = device->data;
    const char *name = is_write ? "to the device" : "from the device";
    if (context->events == NULL) return;
    RtEvent event = {.kind = RT_EVENT_TRANSFER,
                     .name = name,
                     .bytes = bytes,
                     .begin = began,
                     .end = clock_ns()};
    RtSpan span = rt_span_open(context->events);
    span.begin = began; // nothing else was recorded since
    if (api_is_beside(context)) rt_event_beside(context->events, &event);
    else rt_span_close(context->events, span, &event);
    if (!rt_events_are_kept(context->events)) return;
    for (uint32_t i = 0; i < context->place_count; i++)
        if (context->places[i].device == device)
            rt_event(context->events, api_place_row(context, &context->places[i]),
                     RT_EVENT_TRANSFER, name, began, clock_ns(), bytes, 0, 0);
}

static WeftStatus open_device(WeftContext *context, ApiPlace *place) {
    if (place->is_shared) return WEFT_STATUS_OK;
    Str why;
    Status status = dev_open(&context->mem, &context->scratch, place->address,
                             &place->device, &why);
    if (status != STATUS_OK)
        return api_fail(context, (WeftStatus)status, "device %s cannot be used: %.*s",
                        place->address, STR_ARG(why));
    place->device->moved = record_transfer;
    place->device->data = context;
    size_t ceiling = context->options.memory_ceiling;
    if (!api_is_launched(place)) return WEFT_STATUS_OK;
    if (place->memory == 0 || (ceiling != 0 && ceiling < place->memory))
        place->memory = ceiling;
    place->device->limit = place->memory;
    return WEFT_STATUS_OK;
}

// Who may have a call alone, as api_places_open says. Who knows which is faster, a GPU
// or the cores?
static ApiPlace *find_alone(ApiPlace *places, uint32_t count) {
    ApiPlace *fastest = places;
    bool are_parts = true;
    if (count < 2) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        ApiPlace *place = &places[i];
        if (api_is_launched(place)) return NULL;
        are_parts = are_parts && place->is_shared;
        if (place->speed > fastest->speed) fastest = place;
    }
    return are_parts ? &places[count] : fastest;
}

WeftStatus api_places_open(WeftContext *context) {
    if (context->places != NULL) return WEFT_STATUS_OK;
    PlaceList list = {0}, whole = {0};
    WeftStatus status = name_places(context, &list);
    if (status == WEFT_STATUS_OK) status = add(context, &whole, STR("cpu"));
    if (status != WEFT_STATUS_OK) return status;
    ApiPlace *places = mem_try_alloc(&context->mem, (list.len + 1) * sizeof *places);
    if (places == NULL)
        return api_fail(context, WEFT_STATUS_MEMORY, "out of memory for devices");
    memcpy(places, list.data, list.len * sizeof *places);
    places[list.len] = whole.data[0];
    for (uint32_t i = 0; i < list.len; i++) {
        status = open_device(context, &places[i]);
        if (status == WEFT_STATUS_OK) continue;
        close_places(context, places, list.len);
        return status;
    }
    context->places = places;
    context->place_count = list.len;
    context->alone = find_alone(places, list.len);
    return WEFT_STATUS_OK;
}

void api_places_close(WeftContext *context) {
    api_ahead_close(context);
    if (context->places != NULL)
        close_places(context, context->places, context->place_count);
    context->places = context->alone = NULL;
    context->place_count = 0;
}

// ---- what they are ------------------------------------------------------------------

bool api_is_launched(const ApiPlace *place) {
    return place->device != NULL && dev_has_launches(place->device);
}

bool api_has_launched(const WeftContext *context) {
    bool any = false;
    for (uint32_t i = 0; i < context->place_count; i++)
        any = any || api_is_launched(&context->places[i]);
    return any;
}

bool api_has_room(const WeftContext *context) {
    bool all = context->options.memory_ceiling == 0;
    for (uint32_t i = 0; i < context->place_count; i++)
        all = all && context->places[i].memory == 0;
    return all;
}

bool api_has_cores(const WeftContext *context) {
    for (uint32_t i = 0; i < context->place_count; i++)
        if (!api_is_launched(&context->places[i])) return true;
    return false;
}

// ---- those that fail ----------------------------------------------------------------

ApiPlace *api_failed_place(const WeftContext *context) {
    for (uint32_t i = 0; i < context->place_count; i++) {
        ApiPlace *place = &context->places[i];
        if (place->device != NULL && place->device->has_failed && !place->is_lost)
            return place;
    }
    return NULL;
}

uint32_t api_lost_places(const WeftContext *context) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->place_count; i++)
        count += context->places[i].is_lost;
    return count;
}

bool api_leave_place(WeftContext *context, ApiPlace *place) {
    if (context->place_count - api_lost_places(context) < 2) return false;
    Str why = dev_why(place->device, &context->scratch);
    api_warn(context, "device %s failed and is not used any more: %.*s", place->address,
             STR_ARG(why));
    place->is_lost = place->is_halted = true;
    rt_leave(&context->heap, place->device);
    return true;
}

Str api_tell_failed(WeftContext *context) {
    const ApiPlace *place = api_failed_place(context);
    if (place == NULL) return STR("an array was lost with a device");
    StrBuf text = strbuf(&context->scratch);
    Str why = dev_why(place->device, &context->scratch);
    strbuf_printf(&text, "device %s failed: %.*s", place->address, STR_ARG(why));
    return strbuf_done(&text);
}

// ---- what they may do ---------------------------------------------------------------

uint32_t api_place_weight(const WeftContext *context, const ApiPlace *place) {
    enum { FULL = 1000 };
    unsigned most = 1, threads = place->threads;
    for (uint32_t i = 0; i < context->place_count; i++) {
        const ApiPlace *other = &context->places[i];
        if (other->threads > most) most = other->threads;
    }
    // 0 threads are all cores.
    double share = threads == 0 || api_is_launched(place) ? 1 : (double)threads / most;
    double weight = FULL * share * place->speed;
    return weight < 1 ? 1 : (uint32_t)weight;
}

// The threads of those before it, which have cores of their own.
static unsigned threads_before(const WeftContext *context, const ApiPlace *place) {
    unsigned threads = 0;
    if (place == &context->places[context->place_count]) return 0; // all of them
    for (const ApiPlace *other = context->places; other < place; other++)
        if (!api_is_launched(other)) threads += other->threads;
    return threads;
}

RtTeam *api_team(WeftContext *context, ApiPlace *place) {
    RtPoolOptions options = {.threads = place->threads,
                             .pin = context->options.pin != 0,
                             .first = threads_before(context, place)};
    if (place->team == NULL) place->team = rt_team_new(&context->mem, &options);
    return place->team;
}

bool api_place_has_row(const ApiPlace *place) {
    return strcmp(place->address, "cpu") != 0;
}

uint32_t api_place_row(WeftContext *context, ApiPlace *place) {
    if (place->events != context->events)
        place->row = rt_events_row(context->events, place->address);
    place->events = context->events;
    return place->row;
}
