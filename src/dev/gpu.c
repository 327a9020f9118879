// SPDX-License-Identifier: Apache-2.0
//
// Launches on GPUs (abi/gpu.h), and the code for them, over the operations of a driver.
//
// A launch is cut into parts of about a tenth of a second, so that it can be cancelled
// and people be told how far it is; how long turns take is known from the part before.
// In the device's memory the arguments of a part are its frame and then the control, so
// that each part is one write, one start and one read, in order, for which the host
// waits once; for launches that are sure it waits when something else comes, a tenth of
// a second of them at most, whose arguments lie one behind the other. All else that
// travels does so beside a launch. A part whose private memory ran out is run again
// with more for each work item, and fewer of these; what sufficed is remembered.
#define _GNU_SOURCE
#include "dev/gpu.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/gpu.h"
#include "base/clock.h"
#include "dev/cache.h"

enum {
    HEADER_BYTES = offsetof(GpuControl, faults),
    FIRST_ARENA = 16 << 10, // of a work item
    ONLY_ARENA = 1 << 20,   // where there is no second try,
    ALONE_ARENA = 64 << 20, // and for a turn alone
    MORE_ARENA = 8,         // times
};
static const double part_seconds = 0.1;
static const int64_t most_turns = (int64_t)1 << 30;    // of a part
static const uint64_t most_arenas = (uint64_t)1 << 30; // bytes, unless one needs more

struct GpuCode {
    GpuCode *next, **link;
    void *module;
    uint64_t tables;
    size_t table_bytes;
    GpuFunction *functions;
};

// ---- code ---------------------------------------------------------------------------

static Status send_tables(GpuDevice *gpu, GpuCode *code, Str tables) {
    if (tables.len == 0) return STATUS_OK;
    Device *device = &gpu->base;
    Status status = dev_hold(device, tables.len, &code->tables);
    if (status != STATUS_OK) return status;
    code->table_bytes = tables.len;
    return device->ops->write(device, code->tables, tables.ptr, tables.len);
}

// The driver's part, in which the arena may unwind.
static Status load(GpuDevice *gpu, Str source, const atomic_bool *cancel,
                   void **module) {
    Mem *mem = gpu->base.mem;
    jmp_buf recover, *outer = mem->recover;
    Arena arena;
    Status status;
    arena_init(&arena, mem);
    mem->recover = &recover;
    if (setjmp(recover) == 0)
        status = gpu->ops->load(gpu, &arena, source, cancel, module);
    else status = dev_fail(&gpu->base, STATUS_MEMORY, "out of memory");
    mem->recover = outer;
    arena_free(&arena);
    return status;
}

Status gpu_build(Device *device, Str source, Str tables, const atomic_bool *cancel,
                 void **code_out) {
    GpuDevice *gpu = (GpuDevice *)device;
    GpuCode *code = mem_try_alloc(device->mem, sizeof *code);
    if (code == NULL) return dev_fail(device, STATUS_MEMORY, "out of memory");
    *code = (GpuCode){.next = gpu->codes, .link = &gpu->codes};
    if (code->next != NULL) code->next->link = &code->next;
    gpu->codes = code;
    Status status = load(gpu, source, cancel, &code->module);
    if (status == STATUS_OK) status = send_tables(gpu, code, tables);
    if (status == STATUS_OK) *code_out = code;
    else gpu_unload(device, code);
    return status;
}

void gpu_unload(Device *device, void *what) {
    GpuDevice *gpu = (GpuDevice *)device;
    GpuCode *code = what;
    while (code->functions != NULL) {
        GpuFunction *function = code->functions;
        code->functions = function->next;
        if (gpu->ops->forget != NULL) gpu->ops->forget(gpu, function->kernel);
        mem_free(device->mem, function, sizeof *function + strlen(function->name) + 1);
    }
    if (code->table_bytes > 0) dev_release(device, code->tables, code->table_bytes);
    if (code->module != NULL) gpu->ops->unload(gpu, code->module);
    *code->link = code->next;
    if (code->next != NULL) code->next->link = code->link;
    mem_free(device->mem, code, sizeof *code);
}

static Status find_function(GpuDevice *gpu, GpuCode *code, const char *name,
                            GpuFunction **function_out) {
    Device *device = &gpu->base;
    GpuFunction *function = code->functions;
    while (function != NULL && strcmp(function->name, name) != 0)
        function = function->next;
    *function_out = function;
    if (function != NULL) return STATUS_OK;
    size_t size = sizeof *function + strlen(name) + 1;
    function = mem_try_alloc(device->mem, size);
    if (function == NULL) return dev_fail(device, STATUS_MEMORY, "out of memory");
    memset(function, 0, size);
    strcpy(function->name, name);
    Status status = gpu->ops->find(gpu, code->module, function);
    if (status != STATUS_OK) {
        mem_free(device->mem, function, size);
        return status;
    }
    function->next = code->functions;
    code->functions = function;
    *function_out = function;
    return STATUS_OK;
}

// ---- memory of launches -------------------------------------------------------------

static void drop_block(GpuDevice *gpu, struct GpuBlock *block) {
    if (block->bytes > 0) dev_release(&gpu->base, block->address, block->bytes);
    block->bytes = 0;
}

static Status fit_block(GpuDevice *gpu, struct GpuBlock *block, size_t bytes) {
    if (block->bytes >= bytes) return STATUS_OK;
    drop_block(gpu, block);
    Status status = dev_hold(&gpu->base, bytes, &block->address);
    if (status == STATUS_OK) block->bytes = bytes;
    return status;
}

static void drop_staging(GpuDevice *gpu) {
    if (gpu->staging == NULL) return;
    if (gpu->ops->unpin != NULL) gpu->ops->unpin(gpu, gpu->staging);
    else mem_free(gpu->base.mem, gpu->staging, gpu->staging_bytes);
    gpu->staging = NULL;
    gpu->staging_bytes = 0;
}

static Status fit_staging(GpuDevice *gpu, size_t bytes) {
    if (gpu->staging_bytes >= bytes) return STATUS_OK;
    drop_staging(gpu);
    gpu->staging = gpu->ops->pin != NULL ? gpu->ops->pin(gpu, bytes)
                                         : mem_try_alloc(gpu->base.mem, bytes);
    if (gpu->staging == NULL)
        return dev_fail(&gpu->base, STATUS_MEMORY, "out of memory");
    gpu->staging_bytes = bytes;
    return STATUS_OK;
}

void gpu_trim(Device *device) {
    GpuDevice *gpu = (GpuDevice *)device;
    if (!gpu->is_at_work) drop_block(gpu, &gpu->arena);
}

void gpu_close(GpuDevice *gpu) {
    while (gpu->codes != NULL) gpu_unload(&gpu->base, gpu->codes);
    drop_block(gpu, &gpu->arguments);
    drop_block(gpu, &gpu->arena);
    drop_staging(gpu);
}

void gpu_set_items(GpuDevice *gpu, unsigned cores, bool is_cpu) {
    uint64_t wanted = (uint64_t)cores * (is_cpu ? 1024 : 8192);
    gpu->cores = cores > 0 ? cores : 1;
    gpu->most_items = 1;
    while (gpu->most_items < wanted) gpu->most_items *= 2;
}

uint32_t gpu_group(uint32_t wanted, uint64_t most) {
    uint32_t group = 1;
    while (group * 2 <= wanted && group * 2 <= most) group *= 2;
    return group;
}

// ---- launches -----------------------------------------------------------------------

typedef struct Run {
    GpuDevice *gpu;
    const DeviceLaunch *launch;
    const GpuCode *code;
    GpuFunction *function;
    size_t at; // of the arguments, in the staging memory and on the device
    size_t frame_bytes;
    size_t arena_bytes;  // of a work item
    uint32_t group;      // of the next start
    uint64_t items;      // likewise
    bool has_room;       // for others, once there is all that the launch itself wants
    GpuControl *control; // in the staging memory
} Run;

static uint64_t power_of_two_below(uint64_t n) { // or n itself
    while ((n & (n - 1)) != 0) n &= n - 1;
    return n;
}

// Chooses how many work items run so many turns, at most so many; a team is whole.
static void choose_items(Run *run, int64_t turns, uint64_t most) {
    uint64_t items = (uint64_t)turns, group = run->function->group;
    uint32_t team = run->launch->team;
    if (most > run->gpu->most_items) most = run->gpu->most_items;
    if (team > 0) {
        group = team;
        items *= team;
        if (most < group) most = group;
    } else if (turns == 1 || most < group) {
        group = power_of_two_below(most < items ? most : items);
    }
    items = (items + group - 1) / group * group;
    run->items = items < most ? items : most / group * group;
    run->group = (uint32_t)group;
}

// Chooses the work items of a part, with private memory of that size each.
static Status fit_arena(Run *run, int64_t turns, size_t bytes) {
    GpuDevice *gpu = run->gpu;
    uint64_t budget = gpu->memory / 16 < most_arenas ? gpu->memory / 16 : most_arenas;
    if (gpu->base.limit != 0 && gpu->base.limit / 4 < budget)
        budget = gpu->base.limit / 4;
    uint64_t most = budget > bytes ? budget / bytes : 1;
    uint64_t least = run->launch->team > 0 ? run->launch->team : 1;
    for (;;) {
        choose_items(run, turns, most);
        Status status = fit_block(gpu, &gpu->arena, run->items * bytes);
        if (status == STATUS_OK) run->arena_bytes = bytes;
        if (status != STATUS_MEMORY || run->items == least) return status;
        most = run->items / 2;
    }
}

// Likewise, where a size between these has to do.
static Status fit_some_arena(Run *run, int64_t turns, size_t bytes, size_t least) {
    Status status = STATUS_MEMORY;
    for (; status == STATUS_MEMORY && bytes >= least; bytes /= 2)
        if (bytes <= run->gpu->memory) status = fit_arena(run, turns, bytes);
    return status;
}

static Status choose_arena(Run *run, int64_t turns) {
    size_t bytes = run->function->arena_bytes, least = FIRST_ARENA;
    if (!run->launch->may_repeat) least = turns == 1 ? ALONE_ARENA : ONLY_ARENA;
    return fit_some_arena(run, turns, bytes > least ? bytes : least, DEVICE_ITEM_BYTES);
}

static Status choose_more_arena(Run *run, int64_t turns) {
    size_t bytes = run->arena_bytes;
    if (!run->launch->may_repeat) return STATUS_MEMORY;
    return fit_some_arena(run, turns, bytes * MORE_ARENA, bytes * 2);
}

// For all that was begun.
static Status wait(GpuDevice *gpu, const DeviceIdle *idle) {
    gpu->begun = 0;
    gpu->begun_seconds = 0;
    if (idle == NULL) return gpu->ops->wait(gpu);
    gpu->is_at_work = true;
    idle->tell(idle->data, true);
    Status status = gpu->ops->wait(gpu);
    idle->tell(idle->data, false);
    gpu->is_at_work = false;
    return status;
}

// A read behind the launches tells how they went.
Status gpu_settle(Device *device, const DeviceIdle *idle) {
    GpuDevice *gpu = (GpuDevice *)device;
    if (gpu->begun == 0) return STATUS_OK;
    Status status =
        gpu->ops->read(gpu, gpu->staging, gpu->arguments.address, sizeof(uint64_t));
    Status ended = wait(gpu, idle);
    return status == STATUS_OK ? ended : status;
}

// Too little for others is no harm, unless the device has failed.
static Status make_room(Run *run) {
    GpuDevice *gpu = run->gpu;
    bool is_wanted = gpu->ops->make_room != NULL && run->launch->room > 0;
    if (!is_wanted || run->has_room) return STATUS_OK;
    run->has_room = true;
    Status status = gpu->ops->make_room(gpu, run->launch->room);
    return status == STATUS_IO ? status : STATUS_OK;
}

// Begins to run turns once.
static Status begin_turns(Run *run, int64_t begin, int64_t end) {
    GpuDevice *gpu = run->gpu;
    const DeviceLaunch *launch = run->launch;
    char *frame = gpu->staging + run->at;
    uint64_t address = gpu->arguments.address + run->at;
    *run->control = (GpuControl){
        .begin = begin,
        .end = end,
        .frame = address,
        .tables = run->code->tables,
        .arena = launch->has_private ? gpu->arena.address : 0,
        .arena_bytes = run->arena_bytes,
        .least = GPU_NONE,
    };
    if (launch->in_count > 0)
        memcpy(frame, launch->ins, launch->in_count * sizeof *launch->ins);
    Status status =
        gpu->ops->write(gpu, address, frame, run->frame_bytes + HEADER_BYTES);
    if (status != STATUS_OK) return status;
    return gpu->ops->start(gpu, run->function, address + run->frame_bytes, run->items,
                           run->group);
}

// Runs turns once, and reads what the launch leaves.
static Status start(Run *run, int64_t begin, int64_t end) {
    GpuDevice *gpu = run->gpu;
    size_t in_bytes = run->launch->in_count * sizeof *run->launch->ins;
    size_t from = run->at + in_bytes;
    Status status = make_room(run);
    if (status == STATUS_OK) status = begin_turns(run, begin, end);
    if (status == STATUS_OK)
        status = gpu->ops->read(gpu, gpu->staging + from, gpu->arguments.address + from,
                                run->frame_bytes - in_bytes + HEADER_BYTES);
    if (status == STATUS_OK) return wait(gpu, run->launch->idle);
    wait(gpu, NULL); // for what was begun
    return status;
}

// Whether nobody need wait for it now: it is known how long it takes.
static bool is_left(const Run *run) {
    double rate = run->function->rate, turns = (double)run->launch->turns;
    return run->launch->is_sure && rate > 0 &&
           run->gpu->begun_seconds + turns / rate <= part_seconds;
}

static LaunchEnd begin_all(Run *run) {
    enum { EDGE = 64 };
    GpuDevice *gpu = run->gpu;
    int64_t turns = run->launch->turns;
    choose_items(run, turns, UINT64_MAX);
    Status status = make_room(run);
    if (status == STATUS_OK) status = begin_turns(run, 0, turns);
    if (status != STATUS_OK) {
        wait(gpu, NULL);
        return LAUNCH_BROKEN;
    }
    size_t end = run->at + run->frame_bytes + HEADER_BYTES;
    gpu->begun = (end + EDGE - 1) / EDGE * EDGE;
    gpu->begun_seconds += (double)turns / run->function->rate;
    return LAUNCH_OK;
}

static Status read_faults(Run *run, uint64_t address, uint32_t count) {
    GpuDevice *gpu = run->gpu;
    GpuFault *faults = run->control->faults;
    Status status = gpu->ops->read(gpu, faults, address, count * sizeof *faults);
    Status ended = gpu->ops->wait(gpu);
    return status == STATUS_OK ? ended : status;
}

// Fetches the record of the least turn that failed, of a team's items the first; false
// if it is not known to be there.
static bool find_fault(Run *run, GpuFault *fault_out, Status *status) {
    const GpuFault *faults = run->control->faults;
    uint32_t count = run->control->fault_count;
    bool is_found = false;
    if (count > GPU_FAULTS && run->launch->team > 0) return false;
    if (count > GPU_FAULTS) count = GPU_FAULTS;
    uint64_t address = run->gpu->arguments.address + run->at + run->frame_bytes +
                       offsetof(GpuControl, faults);
    if (count > 0) *status = read_faults(run, address, count);
    for (uint32_t i = 0; *status == STATUS_OK && i < count; i++) {
        if (faults[i].turn != run->control->least) continue;
        if (!is_found || faults[i].inner < fault_out->inner) *fault_out = faults[i];
        is_found = true;
    }
    return is_found;
}

static LaunchEnd end_badly(Status status) {
    return status == STATUS_MEMORY ? LAUNCH_MEMORY : LAUNCH_BROKEN;
}

// There were more failures than records: the turn is run again alone for its own.
static LaunchEnd report_fault(Run *run, int64_t begin, GpuFault *fault_out) {
    Status status = STATUS_OK;
    int64_t turn = begin + run->control->least;
    bool is_found = find_fault(run, fault_out, &status);
    if (!is_found && status == STATUS_OK && run->launch->fails_alike) {
        choose_items(run, 1, 1);
        status = start(run, turn, turn + 1);
        is_found = status == STATUS_OK && find_fault(run, fault_out, &status);
    }
    if (status != STATUS_OK) return LAUNCH_BROKEN;
    if (!is_found) *fault_out = (GpuFault){.check = -1};
    fault_out->turn = (uint32_t)turn;
    return LAUNCH_FAULT;
}

static LaunchEnd run_part(Run *run, int64_t begin, int64_t end, GpuFault *fault_out) {
    int64_t turns = end - begin;
    Status status = STATUS_OK;
    if (run->launch->has_private) status = choose_arena(run, turns);
    else choose_items(run, turns, UINT64_MAX);
    while (status == STATUS_OK) {
        double began = clock_seconds();
        bool is_behind = run->gpu->begun > 0 && run->function->rate > 0;
        if (start(run, begin, end) != STATUS_OK) return LAUNCH_BROKEN;
        if (!is_behind)
            run->function->rate = (double)turns / (clock_seconds() - began + 1e-9);
        if (run->control->is_short != 0) {
            status = choose_more_arena(run, turns);
            continue;
        }
        if (run->launch->may_repeat) run->function->arena_bytes = run->arena_bytes;
        if (run->control->least == GPU_NONE) return LAUNCH_OK;
        return report_fault(run, begin, fault_out);
    }
    if (status == STATUS_MEMORY)
        dev_fail(&run->gpu->base, status, "%s: private memory of kernels ran out",
                 run->gpu->base.address);
    return end_badly(status);
}

// How many turns make the next part.
static int64_t choose_part(const Run *run, int64_t left) {
    double turns = run->function->rate * part_seconds;
    double least = (double)run->gpu->cores * run->function->group;
    double most = (double)most_turns;
    int64_t part = (int64_t)(turns < least ? least : turns > most ? most : turns);
    return left < part ? left : part;
}

static LaunchEnd run_parts(Run *run, GpuFault *fault_out) {
    const DeviceLaunch *launch = run->launch;
    for (int64_t begin = 0, end; begin < launch->turns; begin = end) {
        if (launch->cancel != NULL && atomic_load(launch->cancel))
            return LAUNCH_CANCELLED;
        end = begin + choose_part(run, launch->turns - begin);
        LaunchEnd ended = run_part(run, begin, end, fault_out);
        if (ended != LAUNCH_OK) return ended;
        if (launch->progress != NULL) launch->progress(launch->data, end);
    }
    if (launch->turns > 0 && launch->out_count > 0)
        memcpy(launch->outs,
               run->gpu->staging + run->at + launch->in_count * sizeof *launch->ins,
               launch->out_count * sizeof *launch->outs);
    return LAUNCH_OK;
}

static bool has_place(const GpuDevice *gpu, size_t bytes) {
    return gpu->begun + bytes <= gpu->staging_bytes &&
           gpu->begun + bytes <= gpu->arguments.bytes;
}

// A place for the arguments, behind those that are in use.
static Status prepare(Run *run) {
    GpuDevice *gpu = run->gpu;
    size_t bytes = run->frame_bytes + sizeof(GpuControl);
    Status status = STATUS_OK;
    if (!has_place(gpu, bytes)) status = gpu_settle(&gpu->base, run->launch->idle);
    if (status == STATUS_OK && !has_place(gpu, bytes)) {
        if (bytes < DEVICE_LAUNCH_BYTES)
            bytes = DEVICE_LAUNCH_BYTES; // for some in a row
        status = fit_staging(gpu, bytes);
        if (status == STATUS_OK) status = fit_block(gpu, &gpu->arguments, bytes);
    }
    if (status != STATUS_OK) return status;
    run->at = gpu->begun;
    memset(gpu->staging + run->at, 0, run->frame_bytes);
    run->control = (GpuControl *)(void *)(gpu->staging + run->at + run->frame_bytes);
    return STATUS_OK;
}

LaunchEnd gpu_launch(Device *device, const DeviceLaunch *launch, GpuFault *fault_out) {
    Run run = {.gpu = (GpuDevice *)device, .launch = launch, .code = launch->code};
    run.frame_bytes =
        ((size_t)launch->in_count + launch->out_count) * sizeof *launch->ins;
    Status status =
        find_function(run.gpu, launch->code, launch->function, &run.function);
    if (status == STATUS_OK) status = prepare(&run);
    if (status != STATUS_OK) return end_badly(status);
    device->counts.launches++;
    if (is_left(&run)) return begin_all(&run);
    LaunchEnd ended = run_parts(&run, fault_out);
    if (run.gpu->arena.bytes > most_arenas) gpu_trim(device);
    return ended;
}

// ---- files --------------------------------------------------------------------------

// Writes a file of its own into the folder; NULL if that fails.
static const char *write_file(Arena *arena, const char *folder, const char *ending,
                              Str bytes) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "%s/tmp-weft-XXXXXX%s", folder, ending);
    strbuf_char(&text, '\0');
    int file = mkstemps(text.data, (int)strlen(ending));
    if (file < 0) return NULL;
    ssize_t written = 0;
    for (size_t done = 0; done < bytes.len && written >= 0; done += (size_t)written)
        written = write(file, bytes.ptr + done, bytes.len - done);
    if (close(file) == 0 && written >= 0) return text.data;
    unlink(text.data);
    return NULL;
}

const char *gpu_keep_log(Arena *arena, Str log) {
    const char *folder = cache_folder(arena);
    if (folder == NULL) folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] != '/') folder = "/tmp";
    return write_file(arena, folder, ".log", log);
}

bool gpu_cache_read(Arena *arena, const Str *parts, uint32_t count, Str *binary_out) {
    char name[CACHE_NAME + 1];
    const char *folder = cache_folder(arena);
    cache_name(parts, count, name);
    return folder != NULL && cache_read(arena, folder, name, binary_out);
}

void gpu_cache_write(Arena *arena, const Str *parts, uint32_t count, Str binary) {
    char name[CACHE_NAME + 1];
    const char *folder = cache_folder(arena);
    if (folder == NULL) return;
    cache_name(parts, count, name);
    const char *file = write_file(arena, folder, "", binary);
    if (file != NULL && !cache_add(arena, folder, name, file)) unlink(file);
}
