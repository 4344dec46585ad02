/* Trains a classifier of digits for an epoch with the program that examples/export_digits.py exports as `step`.
 *
 *     train START BATCHES END
 *
 * START has the first values of all inputs, one after the other; BATCHES the images and labels of each step. Weights
 * and the optimiser's state are inputs that the program writes over. Their last values go to END.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"

static int failed(const char *what) {
    fprintf(stderr, "%s\n", what);
    return 1;
}

int main(int count, char **words) {
    void *inputs[STEP_INPUTS];
    float loss = 0;
    long long right = 0;
    void *results[STEP_RESULTS];
    results[STEP_RESULT_OUTPUT_0] = &loss;
    results[STEP_RESULT_OUTPUT_1] = &right;
    if (count != 4) return failed("usage: train START BATCHES END");

    FILE *start = fopen(words[1], "rb"), *batches = fopen(words[2], "rb"), *end = fopen(words[3], "wb");
    if (!start || !batches || !end) return failed("cannot open the files");
    for (int i = 0; i < STEP_INPUTS; i++) {
        size_t bytes = step_input_bytes(i);
        inputs[i] = malloc(bytes);
        if (!inputs[i] || fread(inputs[i], 1, bytes, start) != bytes) return failed("the start is cut off");
    }

    step *program = step_create(0);
    if (!program) return failed(step_last_error());
    size_t images = step_input_bytes(STEP_INPUT_X), labels = step_input_bytes(STEP_INPUT_LABELS);
    int steps = 0;
    while (fread(inputs[STEP_INPUT_X], 1, images, batches) == images &&
           fread(inputs[STEP_INPUT_LABELS], 1, labels, batches) == labels) {
        if (step_run(program, (const void *const *)inputs, results)) return failed(step_last_error());
        steps++;
    }
    printf("%d steps, loss %.4f\n", steps, loss);

    for (int i = 0; i < STEP_INPUTS; i++) {
        fwrite(inputs[i], 1, step_input_bytes(i), end);
        free(inputs[i]);
    }
    step_destroy(program);
    fclose(start);
    fclose(batches);
    return fclose(end) ? failed("cannot write the end") : 0;
}
