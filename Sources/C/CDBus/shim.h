// SPDX-License-Identifier: Apache-2.0

// libdbus, the reference client of D-Bus. One importer: CarrelDownloadConditions.
#ifndef CARREL_CDBUS_H
#define CARREL_CDBUS_H

#include <dbus/dbus.h>

#endif
