/* Params from a file of safetensors: 8 bytes of length, a JSON object of names, then the data. Behind runtime.c. */

typedef struct {
    const char *at, *end;
} reader_t;

static void skip_space(reader_t *in) {
    while (in->at < in->end && strchr(" \t\r\n", *in->at)) in->at++;
}

/* Whether the next character is this one, which is then behind the reader. */
static int take(reader_t *in, char wanted) {
    skip_space(in);
    if (in->at >= in->end || *in->at != wanted) return 0;
    in->at++;
    return 1;
}

static int hex_of(reader_t *in, unsigned *value) {
    *value = 0;
    for (int i = 0; i < 4; i++, in->at++) {
        if (in->at >= in->end || !isxdigit((unsigned char)*in->at)) return 0;
        char c = (char)tolower((unsigned char)*in->at);
        *value = *value * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return 1;
}

static size_t utf8_of(unsigned code, char *text) {
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    for (int i = more; i > 0; i--, code >>= 6) text[i] = (char)(0x80 | (code & 0x3F));
    text[0] = (char)(first[more] | code);
    return (size_t)more + 1;
}

static int take_escape(reader_t *in, char *text, size_t *length) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (in->at >= in->end) return 0;
    char c = *in->at++;
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        text[(*length)++] = values[found - names];
        return 1;
    }
    unsigned code, low;
    if (c != 'u' || !hex_of(in, &code)) return 0;
    if (code >= 0xD800 && code < 0xDC00) {
        if (in->end - in->at < 2 || in->at[0] != '\\' || in->at[1] != 'u') return 0;
        in->at += 2;
        if (!hex_of(in, &low) || low < 0xDC00 || low > 0xDFFF) return 0;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *length += utf8_of(code, text + *length);
    return 1;
}

/* A string, decoded into `text`, which has room for `size` bytes; one that is longer is none that is looked for. */
static int take_string(reader_t *in, char *text, size_t size) {
    if (!take(in, '"')) return 0;
    size_t length = 0;
    while (in->at < in->end && *in->at != '"') {
        char decoded[4];
        size_t count = 0;
        if (*in->at == '\\') {
            in->at++;
            if (!take_escape(in, decoded, &count)) return 0;
        } else {
            decoded[count++] = *in->at++;
        }
        if (length + count < size) memcpy(text + length, decoded, count);
        length += count;
    }
    text[length < size ? length : 0] = 0;
    return take(in, '"');
}

static int take_number(reader_t *in, int64_t *value) {
    skip_space(in);
    *value = 0;
    const char *begin = in->at;
    for (; in->at < in->end && isdigit((unsigned char)*in->at); in->at++) {
        if (*value > (INT64_MAX - 9) / 10) return 0;
        *value = *value * 10 + (*in->at - '0');
    }
    return in->at > begin;
}

/* A list of numbers, of which the first `size` are kept; gives how many there are, or -1. */
static int take_numbers(reader_t *in, int64_t *values, int size) {
    int count = 0;
    if (!take(in, '[')) return -1;
    if (take(in, ']')) return 0;
    do {
        int64_t value;
        if (count == INT32_MAX || !take_number(in, &value)) return -1;
        if (count < size) values[count] = value;
        count++;
    } while (take(in, ','));
    return take(in, ']') ? count : -1;
}

/* The metadata: an object of strings. */
static int skip_strings(reader_t *in) {
    char text[1];
    if (!take(in, '{')) return 0;
    if (take(in, '}')) return 1;
    do {
        if (!take_string(in, text, sizeof text) || !take(in, ':') || !take_string(in, text, sizeof text)) return 0;
    } while (take(in, ','));
    return take(in, '}');
}

#define MOST_AXES 64

typedef struct {
    char type[16];
    int64_t shape[MOST_AXES], offsets[2];
    int axes;
} tensor_t;

static int take_tensor(reader_t *in, tensor_t *found) {
    int seen = 0;
    if (!take(in, '{')) return 0;
    do {
        char key[16];
        if (!take_string(in, key, sizeof key) || !take(in, ':')) return 0;
        if (!strcmp(key, "dtype")) {
            if (!take_string(in, found->type, sizeof found->type)) return 0;
            seen |= 1;
        } else if (!strcmp(key, "shape")) {
            found->axes = take_numbers(in, found->shape, MOST_AXES);
            if (found->axes < 0 || found->axes > MOST_AXES) return 0;
            seen |= 2;
        } else if (!strcmp(key, "data_offsets")) {
            if (take_numbers(in, found->offsets, 2) != 2) return 0;
            seen |= 4;
        } else {
            return 0;
        }
    } while (take(in, ','));
    return seen == 7 && take(in, '}');
}

typedef struct {
    unsigned char *bytes;
    size_t size;
} file_t;

static int read_file(const char *path, file_t *file) {
    FILE *stream = fopen(path, "rb");
    if (!stream) return fail("cannot read '%s': %s", path, strerror(errno));
    int failed = fseeko(stream, 0, SEEK_END) != 0;
    off_t size = failed ? -1 : ftello(stream);
    failed = size < 0 || fseeko(stream, 0, SEEK_SET) != 0;
    file->bytes = failed ? NULL : malloc((size_t)size + 1);
    file->size = failed ? 0 : (size_t)size;
    failed = !file->bytes || fread(file->bytes, 1, file->size, stream) != file->size;
    fclose(stream);
    if (!failed) return 0;
    free(file->bytes);
    return fail("cannot read '%s'", path);
}

static int check_tensor(const char *path, int index, const tensor_t *one, size_t room) {
    const rlx_buffer *param = &rlx_arguments[index];
    int same = !strcmp(one->type, param->stored_as) && one->axes == param->axes;
    for (int i = 0; same && i < one->axes; i++) same = one->shape[i] == param->shape[i];
    if (!same) return fail("'%s': '%s' has another type than %s", path, param->name, param->type);
    if (one->offsets[0] > one->offsets[1] || (uint64_t)one->offsets[1] > room ||
        one->offsets[1] - one->offsets[0] != param->bytes) {
        return fail("'%s': the data of '%s' is cut off", path, param->name);
    }
    return 0;
}

/* Where each param's data is; all are found before one is set. */
static int find_tensors(const char *path, const file_t *file, const unsigned char **places) {
    uint64_t length = 0;
    for (int i = 0; i < 8 && file->size >= 8; i++) length |= (uint64_t)file->bytes[i] << (8 * i);
    if (file->size < 8 || length > file->size - 8) return fail("'%s' is no safetensors file", path);
    reader_t in = {(const char *)file->bytes + 8, (const char *)file->bytes + 8 + length};
    size_t room = file->size - 8 - (size_t)length;
    int more = take(&in, '{') && !take(&in, '}');
    while (more) {
        char name[1024];
        tensor_t one;
        int known = take_string(&in, name, sizeof name) && take(&in, ':');
        if (known && !strcmp(name, "__metadata__")) {
            known = skip_strings(&in);
        } else {
            known = known && take_tensor(&in, &one);
            int index = known ? param_named(name) : -1;
            if (index >= 0) {
                if (check_tensor(path, index, &one, room)) return 1;
                places[index] = file->bytes + 8 + length + one.offsets[0];
            }
        }
        more = known && take(&in, ',');
        if (!known || (!more && !take(&in, '}'))) return fail("the header of '%s' is damaged", path);
    }
    for (int i = 0; i < RLX_ARGUMENTS; i++) {
        if (rlx_arguments[i].kind == RLX_PARAM && !places[i]) {
            return fail("'%s' has no '%s', which is %s", path, rlx_arguments[i].name, rlx_arguments[i].type);
        }
    }
    return 0;
}

int RLX(load_params)(instance_t *self, const char *path) {
    error_text[0] = 0;
    if (!self || !path) return fail("expected an instance and a path, got NULL");
    file_t file = {NULL, 0};
    if (read_file(path, &file)) return 1;
    const unsigned char **places = cleared((RLX_ARGUMENTS + 1) * sizeof *places);
    int failed = places ? find_tensors(path, &file, places) : fail("no memory");
    pthread_mutex_lock(&self->calls);
    for (int i = 0; !failed && i < RLX_ARGUMENTS; i++) {
        if (rlx_arguments[i].kind == RLX_PARAM) failed = set_value(self, i, places[i]);
    }
    pthread_mutex_unlock(&self->calls);
    free(places);
    free(file.bytes);
    return failed;
}
