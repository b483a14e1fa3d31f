#include "ccommonpasswords.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char hashes[] = {
#embed "hashes.bin"
};

const unsigned char *const ccommonpasswords_hashes = hashes;
const long ccommonpasswords_count = sizeof hashes;
