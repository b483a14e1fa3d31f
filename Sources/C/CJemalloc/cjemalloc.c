#include "cjemalloc.h"

// Addresses are given back with the memory: a child that is held to a number of them (clinux_fork_confined) would find those that
// its parent kept.
const char *malloc_conf = "retain:false";
