/* The runtime of an exported program: instances, threads, weights, errors.
 *
 * The generated file in front of this one defines the layout of the driver's tables (RLX_*), the program's tables,
 * the kernels, and RLX(name), which puts the program's name in front of a public function. The driver, rlx_run and
 * rlx_work, is machine code made from the same source as in Python.
 */

typedef struct RLX_INSTANCE instance_t;

struct RLX_INSTANCE {
    int64_t *pool;
    int64_t *plan;
    int64_t *tables;
    int64_t *block;
    void *arena;
    void *blas;
    void **values;          /* by argument: what a run reads if the caller gives none */
    unsigned char **owned;  /* by argument: memory of this instance, or NULL */
    int32_t *order;         /* arguments and results by address, as the last run sorted them */
    pthread_t *workers;
    int worker_count;
    pthread_mutex_t calls;
    pthread_mutex_t sleep;
    pthread_mutex_t run;
    pthread_cond_t condition;
    sigset_t signals;
    int64_t functions[RLX_FUNCTIONS + 1];
};

static _Thread_local char error_text[512];

static int fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(error_text, sizeof error_text, format, list);
    va_end(list);
    return 1;
}

const char *RLX(last_error)(void) {
    return error_text;
}

const char *RLX(version)(void) {
    return RLX_VERSION;
}

size_t RLX(input_bytes)(int place) {
    for (int i = 0; i < RLX_ARGUMENTS; i++) {
        if (rlx_arguments[i].kind != RLX_PARAM && place-- == 0) return (size_t)rlx_arguments[i].bytes;
    }
    return 0;
}

size_t RLX(result_bytes)(int place) {
    return place >= 0 && place < RLX_RESULTS ? (size_t)rlx_results[place].bytes : 0;
}

static void *aligned(size_t bytes, size_t alignment) {
    void *memory = NULL;
    if (alignment < 64) alignment = 64;
    if (bytes > SIZE_MAX - alignment) return NULL;
    return posix_memalign(&memory, alignment, bytes ? bytes : alignment) ? NULL : memory;
}

static void *cleared(size_t bytes) {
    void *memory = aligned(bytes, 64);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

static int available_cores(void) {
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (int)count;
}

static void put(int64_t *table, int offset, int64_t value) {
    table[offset / 8] = value;
}

#define ADDRESS(x) ((int64_t)(intptr_t)(x))

/* BLAS and LAPACK */

#if RLX_USED_FUNCTIONS
static void *symbol_in(void *library, const char *name) {
    static const char *const forms[] = {"%s_", "scipy_%s_"};
    char text[64];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, forms[i], name);
        void *found = dlsym(library, text);
        if (found) return found;
    }
    return NULL;
}

/* The library that was exported with the program, in a folder beside it. */
static void *open_bundled(void) {
    Dl_info own;
    char path[PATH_MAX];
    if (!*RLX_BLAS_LIBRARY || !dladdr((void *)RLX(create), &own) || !own.dli_fname) return NULL;
    const char *slash = strrchr(own.dli_fname, '/');
    int folder = slash ? (int)(slash + 1 - own.dli_fname) : 0;
    int length = snprintf(path, sizeof path, "%.*s%s%s", folder, own.dli_fname, slash ? "" : "./", RLX_BLAS_LIBRARY);
    return length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_blas(void) {
    const char *wanted = getenv("RLX_BLAS_LIBRARY");
    if (wanted && *wanted) return dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    static const char *const names[] = {
        "libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2", "libmkl_rt.so", "liblapack.so.3"};
    void *library = open_bundled();
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void call_if_there(void *library, const char *name, int argument) {
    void (*function)(int) = (void (*)(int))dlsym(library, name);
    if (function) function(argument);
}

static int load_blas(instance_t *self) {
    self->blas = open_blas();
    if (!self->blas) {
        return fail("no library of BLAS and LAPACK: install OpenBLAS, or set RLX_BLAS_LIBRARY to the path of one");
    }
    call_if_there(self->blas, "MKL_Set_Interface_Layer", 0);
    call_if_there(self->blas, "MKL_Set_Threading_Layer", 1);
    for (int i = 0; i < RLX_USED_FUNCTIONS; i++) {
        void *function = symbol_in(self->blas, rlx_functions[i].name);
        if (!function) return fail("the library of BLAS and LAPACK has no function %s", rlx_functions[i].name);
        self->functions[rlx_functions[i].index] = ADDRESS(function);
    }
    static const char *const controls[][2] = {
        {"openblas_get_num_threads", "openblas_set_num_threads"},
        {"scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"}};
    for (int i = 0; i < 2; i++) {
        void *get = dlsym(self->blas, controls[i][0]), *set = dlsym(self->blas, controls[i][1]);
        if (get && set) {
            put(self->plan, RLX_PLAN_GET_BLAS_THREADS, ADDRESS(get));
            put(self->plan, RLX_PLAN_SET_BLAS_THREADS, ADDRESS(set));
        }
    }
    return 0;
}
#else
static int load_blas(instance_t *self) {
    (void)self;
    return 0;
}
#endif

/* instances */

#if defined(__x86_64__)
enum { EAX, EBX, ECX, EDX };

/* Where cpuid says whether a feature is there. Compilers' own check is missing from some of their libraries. */
static const struct {
    const char *name;
    unsigned leaf, part, word, bit;
} cpu_features[] = {
    {"fma", 1, 0, ECX, 12},      {"sse4.2", 1, 0, ECX, 20},   {"popcnt", 1, 0, ECX, 23},     {"avx", 1, 0, ECX, 28},
    {"f16c", 1, 0, ECX, 29},     {"bmi", 7, 0, EBX, 3},       {"avx2", 7, 0, EBX, 5},        {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16},  {"avx512dq", 7, 0, EBX, 17}, {"avx512cd", 7, 0, EBX, 28},   {"avx512bw", 7, 0, EBX, 30},
    {"avx512vl", 7, 0, EBX, 31}, {"avx512vnni", 7, 0, ECX, 11}, {"avx512bf16", 7, 1, EAX, 5},
    {"amx-tile", 7, 0, EDX, 24}, {"amx-bf16", 7, 0, EDX, 22}, {"amx-int8", 7, 0, EDX, 25},
};

static int has_feature(const char *name) {
    unsigned words[4], low = 0, high = 0;
    size_t i = 0;
    while (strcmp(cpu_features[i].name, name)) i++;
    if (!__get_cpuid_count(cpu_features[i].leaf, cpu_features[i].part, words, words + 1, words + 2, words + 3)) return 0;
    if (!(words[cpu_features[i].word] >> cpu_features[i].bit & 1)) return 0;
    int tiles = !strncmp(name, "amx", 3);
    if (!tiles && strncmp(name, "avx", 3) && strcmp(name, "fma") && strcmp(name, "f16c")) return 1;
    /* whether the system saves the registers: it has to offer xgetbv */
    if (!__get_cpuid(1, words, words + 1, words + 2, words + 3) || !(words[ECX] >> 27 & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    unsigned needed = tiles ? 0x600E6 : strncmp(name, "avx512", 6) ? 0x06 : 0xE6;
    if ((low & needed) != needed) return 0;
#if defined(__linux__)
    /* Linux has tile registers off in a process until it asks: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) */
    if (tiles) return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#endif
    return !tiles;
}

static int check_processor(void) {
    static const char *const needed[] = {RLX_FEATURES NULL};
    for (int i = 0; needed[i]; i++) {
        if (!has_feature(needed[i])) return fail("the processor lacks %s", needed[i]);
    }
    return 0;
}
#else
static int check_processor(void) {
    return 0;
}
#endif

static void fill_pool(instance_t *self) {
    int64_t *pool = self->pool;
    put(pool, RLX_POOL_SPIN_NS, RLX_SPIN_NS);
    put(pool, RLX_POOL_RUN_MUTEX, ADDRESS(&self->run));
    put(pool, RLX_POOL_SLEEP_MUTEX, ADDRESS(&self->sleep));
    put(pool, RLX_POOL_CONDITION, ADDRESS(&self->condition));
    put(pool, RLX_POOL_ALL_SIGNALS, ADDRESS(&self->signals));
    put(pool, RLX_POOL_ARENA, ADDRESS(self->arena));
    put(pool, RLX_POOL_MUTEX_LOCK, ADDRESS(pthread_mutex_lock));
    put(pool, RLX_POOL_MUTEX_TRYLOCK, ADDRESS(pthread_mutex_trylock));
    put(pool, RLX_POOL_MUTEX_UNLOCK, ADDRESS(pthread_mutex_unlock));
    put(pool, RLX_POOL_CONDITION_WAIT, ADDRESS(pthread_cond_wait));
    put(pool, RLX_POOL_CONDITION_BROADCAST, ADDRESS(pthread_cond_broadcast));
    put(pool, RLX_POOL_YIELD, ADDRESS(sched_yield));
    put(pool, RLX_POOL_CLOCK, ADDRESS(clock_gettime));
    put(pool, RLX_POOL_SIGMASK, ADDRESS(pthread_sigmask));
    put(pool, RLX_POOL_MEMCPY, ADDRESS(memcpy));
    put(pool, RLX_POOL_MALLOC, ADDRESS(malloc));
    put(pool, RLX_POOL_FREE, ADDRESS(free));
}

static void fill_tables(instance_t *self) {
    memcpy(self->tables, rlx_tables, sizeof rlx_tables);
    for (size_t i = 0; i < RLX_OFFSETS; i++) self->tables[rlx_offsets[i]] += ADDRESS(self->tables);
    for (size_t i = 0; i < RLX_LAUNCHES; i++) {
        self->tables[rlx_launches[i].word] = ADDRESS(rlx_kernels[rlx_launches[i].kernel]);
    }
}

static void fill_plan(instance_t *self, int threads) {
    put(self->plan, RLX_PLAN_POOL, ADDRESS(self->pool));
    put(self->plan, RLX_PLAN_PHASES, ADDRESS(self->tables));
    put(self->plan, RLX_PLAN_PHASE_COUNT, RLX_PHASE_COUNT);
    put(self->plan, RLX_PLAN_THREADS, threads);
    put(self->plan, RLX_PLAN_PARALLEL, RLX_PARALLEL);
    put(self->plan, RLX_PLAN_NS, INT64_C(1) << 40);
    put(self->plan, RLX_PLAN_COPIES, RLX_BLOCK_BYTES);
}

static int start_workers(instance_t *self, int count) {
    for (int i = 0; i < count; i++) {
        int error = pthread_create(&self->workers[i], NULL, (void *(*)(void *))rlx_work, self->pool);
        if (error) return fail("cannot start a thread: %s", strerror(error));
        self->worker_count = i + 1;
        put(self->pool, RLX_POOL_WORKERS, i + 1);
    }
    return 0;
}

void RLX(destroy)(instance_t *self) {
    if (!self) return;
    if (self->worker_count) {
        pthread_mutex_lock(&self->sleep);
        __atomic_store_n(&self->pool[RLX_POOL_STOP / 8], 1, __ATOMIC_SEQ_CST);
        self->pool[RLX_POOL_WAKE / 8] += 1;
        pthread_cond_broadcast(&self->condition);
        pthread_mutex_unlock(&self->sleep);
        for (int i = 0; i < self->worker_count; i++) pthread_join(self->workers[i], NULL);
    }
    if (self->owned) {
        for (int i = 0; i < RLX_ARGUMENTS; i++) free(self->owned[i]);
    }
    pthread_mutex_destroy(&self->calls);
    pthread_mutex_destroy(&self->sleep);
    pthread_mutex_destroy(&self->run);
    pthread_cond_destroy(&self->condition);
    if (self->blas) dlclose(self->blas);
    free(self->workers);
    free(self->order);
    free(self->owned);
    free(self->values);
    free(self->block);
    free(self->tables);
    free(self->plan);
    free(self->pool);
    free(self->arena);
    free(self);
}

static int own(instance_t *self, int argument) {
    if (self->owned[argument]) return 0;
    unsigned char *memory = aligned((size_t)rlx_arguments[argument].bytes, 64);
    if (!memory) return fail("no memory for the %lld bytes of '%s'", (long long)rlx_arguments[argument].bytes,
                             rlx_arguments[argument].name);
    self->owned[argument] = memory;
    return 0;
}

static int fill_values(instance_t *self) {
    for (int i = 0; i < RLX_ARGUMENTS; i++) {
        const rlx_buffer *one = &rlx_arguments[i];
        if (one->value < 0) continue;
        const unsigned char *given = rlx_data + one->value;
        if (one->kind == RLX_PARAM && one->updated) {
            if (own(self, i)) return 1;
            memcpy(self->owned[i], given, (size_t)one->bytes);
            self->values[i] = self->owned[i];
        } else {
            /* nothing writes to it before set_param gives it memory of its own */
            self->values[i] = (void *)(intptr_t)given;
        }
    }
    return 0;
}

static int allocate(instance_t *self) {
    size_t count = RLX_ARGUMENTS + RLX_RESULTS + 1;
    self->pool = cleared(RLX_POOL_SIZE);
    self->plan = cleared(RLX_PLAN_SIZE);
    self->tables = cleared(sizeof rlx_tables);
    self->block = cleared(RLX_BLOCK_BYTES);
    self->values = cleared(count * sizeof *self->values);
    self->owned = cleared(count * sizeof *self->owned);
    self->order = cleared(count * sizeof *self->order);
    self->workers = cleared(RLX_THREADS * sizeof *self->workers);
    self->arena = aligned(RLX_ARENA_BYTES, RLX_ARENA_BYTES >= RLX_HUGE_PAGE ? RLX_HUGE_PAGE : RLX_ALIGNMENT);
    if (!self->pool || !self->plan || !self->tables || !self->block || !self->values || !self->owned || !self->order ||
        !self->workers || !self->arena) {
        return fail("no memory for an instance with an arena of %lld bytes", (long long)RLX_ARENA_BYTES);
    }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (RLX_ARENA_BYTES >= RLX_HUGE_PAGE) madvise(self->arena, RLX_ARENA_BYTES, MADV_HUGEPAGE);
#endif
    for (size_t i = 0; i + 1 < count; i++) self->order[i] = (int32_t)i;
    return 0;
}

instance_t *RLX(create)(int threads) {
    error_text[0] = 0;
    if (threads < 0) {
        fail("threads must be at least 0, got %d", threads);
        return NULL;
    }
    if (check_processor()) return NULL;
    instance_t *self = cleared(sizeof *self);
    if (!self) {
        fail("no memory for an instance");
        return NULL;
    }
    pthread_mutex_init(&self->calls, NULL);
    pthread_mutex_init(&self->sleep, NULL);
    pthread_mutex_init(&self->run, NULL);
    pthread_cond_init(&self->condition, NULL);
    sigfillset(&self->signals);
    int most = available_cores();
    if (threads == 0 || threads > most) threads = most;
    if (threads > RLX_THREADS || !RLX_PARALLEL) threads = RLX_PARALLEL ? RLX_THREADS : 1;
    if (allocate(self)) goto failed;
    fill_pool(self);
    fill_tables(self);
    fill_plan(self, threads);
    if (load_blas(self) || fill_values(self) || start_workers(self, threads - 1)) goto failed;
    return self;
failed:
    RLX(destroy)(self);
    return NULL;
}

/* params */

static int param_named(const char *name) {
    for (int i = 0; name && i < RLX_ARGUMENTS; i++) {
        if (rlx_arguments[i].kind == RLX_PARAM && !strcmp(rlx_arguments[i].name, name)) return i;
    }
    return -1;
}

static int find_param(const instance_t *self, const char *name, const void *data, size_t bytes) {
    error_text[0] = 0;
    if (!self || !name || (!data && bytes)) return fail("expected an instance, a name and data, got NULL") ? -1 : 0;
    int index = param_named(name);
    if (index < 0) {
        fail("no param '%s'", name);
    } else if (bytes != (size_t)rlx_arguments[index].bytes) {
        fail("param '%s' is %s: expected %lld bytes, got %zu", name, rlx_arguments[index].type,
             (long long)rlx_arguments[index].bytes, bytes);
        index = -1;
    }
    return index;
}

static int set_value(instance_t *self, int index, const void *data) {
    if (own(self, index)) return 1;
    if (rlx_arguments[index].bytes) memcpy(self->owned[index], data, (size_t)rlx_arguments[index].bytes);
    self->values[index] = self->owned[index];
    return 0;
}

int RLX(set_param)(instance_t *self, const char *name, const void *data, size_t bytes) {
    int index = find_param(self, name, data, bytes);
    if (index < 0) return 1;
    pthread_mutex_lock(&self->calls);
    int failed = set_value(self, index, data);
    pthread_mutex_unlock(&self->calls);
    return failed;
}

int RLX(get_param)(instance_t *self, const char *name, void *data, size_t bytes) {
    int index = find_param(self, name, data, bytes);
    if (index < 0) return 1;
    pthread_mutex_lock(&self->calls);
    const void *value = self->values[index];
    if (value && bytes) memcpy(data, value, bytes);
    pthread_mutex_unlock(&self->calls);
    return value ? 0 : fail("param '%s' has no value yet", name);
}

/* runs */

typedef struct {
    uintptr_t begin, end;
    int writes;
} range_t;

static range_t range_of(const instance_t *self, int number) {
    const rlx_buffer *one = number < RLX_ARGUMENTS ? &rlx_arguments[number] : &rlx_results[number - RLX_ARGUMENTS];
    uintptr_t begin = (uintptr_t)self->block[(RLX_BLOCK_BUFFERS) / 8 + number];
    range_t found = {begin, begin + (uintptr_t)one->bytes, number >= RLX_ARGUMENTS || one->updated};
    return found;
}

static const char *name_of(int number) {
    return number < RLX_ARGUMENTS ? rlx_arguments[number].name : rlx_results[number - RLX_ARGUMENTS].name;
}

/* What is overwrittenlaps nothing else. Sorting starts from the order of the last run, which is mostly that of this. */
static int check_overlaps(instance_t *self) {
    int count = RLX_ARGUMENTS + RLX_RESULTS;
    for (int i = 1; i < count; i++) {
        int32_t moved = self->order[i];
        uintptr_t begin = range_of(self, moved).begin;
        int j = i;
        for (; j > 0 && range_of(self, self->order[j - 1]).begin > begin; j--) self->order[j] = self->order[j - 1];
        self->order[j] = moved;
    }
    uintptr_t read_end = 0, write_end = 0;
    int reader = 0, writer = 0;
    for (int i = 0; i < count; i++) {
        int number = self->order[i];
        range_t range = range_of(self, number);
        if (range.begin == range.end) continue;
        if (range.begin < write_end) return fail("'%s' overlaps '%s', which is written", name_of(number), name_of(writer));
        if (range.writes && range.begin < read_end) {
            return fail("'%s', which is written, overlaps '%s'", name_of(number), name_of(reader));
        }
        if (range.writes && range.end > write_end) {
            write_end = range.end;
            writer = number;
        } else if (range.end > read_end) {
            read_end = range.end;
            reader = number;
        }
    }
    return 0;
}

static int put_buffer(instance_t *self, const rlx_buffer *one, int number, const void *place) {
    if (!place && one->bytes) return fail("'%s' is NULL: expected the address of %s", one->name, one->type);
    if ((uintptr_t)place % (uintptr_t)one->alignment) {
        return fail("'%s' lies at %p: expected an address that is a multiple of %d", one->name, place, one->alignment);
    }
    self->block[RLX_BLOCK_BUFFERS / 8 + number] = ADDRESS(place);
    return 0;
}

static int fill_block(instance_t *self, const void *const *inputs, void *const *results) {
    memset(self->block, 0, RLX_BLOCK_BUFFERS);
    put(self->block, RLX_BLOCK_BASES + 8 * RLX_BASE_BLAS, ADDRESS(self->functions));
    put(self->block, RLX_BLOCK_BASES + 8 * RLX_BASE_CONSTANTS, ADDRESS(rlx_data));
    int input = 0;
    for (int i = 0; i < RLX_ARGUMENTS; i++) {
        const rlx_buffer *one = &rlx_arguments[i];
        const void *place = self->values[i];
        if (one->kind != RLX_PARAM) {
            const void *given = inputs[input++];
            if (given || one->kind != RLX_OPTIONAL) place = given;
        } else if (!place) {
            return fail("param '%s' has no value: call set_param", one->name);
        }
        if (put_buffer(self, one, i, place)) return 1;
    }
    for (int i = 0; i < RLX_RESULTS; i++) {
        if (put_buffer(self, &rlx_results[i], RLX_ARGUMENTS + i, results[i])) return 1;
    }
    return check_overlaps(self);
}

int RLX(run)(instance_t *self, const void *const *inputs, void *const *results) {
    error_text[0] = 0;
    if (!self || (!inputs && RLX_INPUTS) || (!results && RLX_RESULTS)) {
        return fail("expected an instance, inputs and results, got NULL");
    }
    pthread_mutex_lock(&self->calls);
    int failed = fill_block(self, inputs, results);
    if (!failed) {
        rlx_run(ADDRESS(self->plan), ADDRESS(self->block));
        const char *message = (const char *)(intptr_t)self->block[RLX_BLOCK_STATUS / 8];
        if (message) failed = fail("%s, got %lld", message, (long long)self->block[RLX_BLOCK_STATUS_VALUE / 8]);
    }
    pthread_mutex_unlock(&self->calls);
    return failed;
}
