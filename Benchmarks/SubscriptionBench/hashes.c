// SPDX-License-Identifier: Apache-2.0

// Hashes a password with argon2id for some seconds, one after another, at the cost that the server has; prints how many in a
// second. Usage: hashes SECONDS
#include <argon2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 2) return 64;
    double start = now(), end = start + atof(arguments[1]);
    long hashes = 0;
    for (; now() < end; hashes++) {
        unsigned char tag[32];
        if (argon2id_hash_raw(1, 47104, 1, "correct horse battery", 21, "sixteen byte salt", 16, tag, sizeof tag) != ARGON2_OK) return 1;
    }
    printf("%.2f\n", hashes / (now() - start));
    return 0;
}
