/* Says which digit each image of standard input shows: 64 numbers an image, f32. The weights are in the library. */
#include <stdio.h>

#include "predict.h"

int main(void) {
    predict *program = predict_create(1);
    if (!program) {
        fprintf(stderr, "%s\n", predict_last_error());
        return 1;
    }
    float image[64];
    int digit;
    const void *inputs[PREDICT_INPUTS] = {image};
    void *results[PREDICT_RESULTS] = {&digit};
    while (fread(image, sizeof image, 1, stdin) == 1) {
        if (predict_run(program, inputs, results)) {
            fprintf(stderr, "%s\n", predict_last_error());
            return 1;
        }
        printf("%d\n", digit);
    }
    predict_destroy(program);
    return 0;
}
