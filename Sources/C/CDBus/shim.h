// SPDX-License-Identifier: Apache-2.0

// libdbus, the reference client of D-Bus. One importer: CarrelDownloadConditions.
#ifndef CARREL_CDBUS_H
#define CARREL_CDBUS_H

#include <dbus/dbus.h>

// The types of values, whose macros have casts, which Swift does not import.
enum {
    cdbus_type_string = DBUS_TYPE_STRING,
    cdbus_type_array = DBUS_TYPE_ARRAY,
    cdbus_type_dict_entry = DBUS_TYPE_DICT_ENTRY,
    cdbus_type_variant = DBUS_TYPE_VARIANT,
    cdbus_type_uint32 = DBUS_TYPE_UINT32,
    cdbus_type_boolean = DBUS_TYPE_BOOLEAN
};

#endif
