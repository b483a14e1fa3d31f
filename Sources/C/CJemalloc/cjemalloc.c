// SPDX-License-Identifier: Apache-2.0

#include "cjemalloc.h"

// Addresses are given back with the memory: a child that is held to a number of them would find those that its parent kept
// (clinux_fork_confined, which has what is still held given back before).
// Large pieces (of media, mostly) are given back immediately, not kept for ten seconds: the peak of a command is what it uses.
const char *malloc_conf = "retain:false,oversize_threshold:524288";
