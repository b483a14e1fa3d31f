// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux.h"

#include <pthread.h>

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
