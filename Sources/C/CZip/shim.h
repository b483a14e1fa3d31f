// SPDX-License-Identifier: Apache-2.0

// libzip's C interface.
#ifndef CARREL_CZIP_H
#define CARREL_CZIP_H

#include <zip.h>

#endif
