// SPDX-License-Identifier: Apache-2.0

#include "cjemalloc.h"

// Addresses are released with the memory: a child with a limited address space would inherit its parent's (see
// clinux_fork_confined, which first releases unused memory).
// Large pieces (of media, mostly) are released immediately, not after ten seconds: the peak of a command is its actual use.
const char *malloc_conf = "retain:false,oversize_threshold:524288";
