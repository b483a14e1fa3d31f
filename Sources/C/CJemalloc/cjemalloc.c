#include "cjemalloc.h"

// Addresses are given back with the memory: a child that is held to a number of them would find those that its parent kept
// (clinux_fork_confined, which has what is still held given back before).
const char *malloc_conf = "retain:false";
