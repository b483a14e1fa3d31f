// SPDX-License-Identifier: Apache-2.0

// Linux calls that Swift's Glibc module does not show. One importer per function family; nothing here but thin calls.
#ifndef CLINUX_H
#define CLINUX_H

/// Names the calling thread for `ps -T`; the kernel keeps 15 characters.
void clinux_name_thread(const char *_Nonnull name);


#include "clinux_sockets.h"

#endif
