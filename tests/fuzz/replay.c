// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzer's function once on each file named, without libFuzzer and with any
// compiler. Ten seconds for one input are a hang.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 1;
    static uint8_t bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *exact = malloc(size + 1);  // so that reading past the end is noticed
    if (exact == NULL) return 1;
    for (size_t i = 0; i < size; i++) exact[i] = bytes[i];
    alarm(10);
    LLVMFuzzerTestOneInput(exact, size);
    alarm(0);
    free(exact);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed += replay(argv[i]);
    return failed != 0;
}
