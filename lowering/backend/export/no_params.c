/* The place of safetensors.c in a program without params. */

int RLX(load_params)(instance_t *self, const char *path) {
    error_text[0] = 0;
    return self && path ? 0 : fail("expected an instance and a path, got NULL");
}
