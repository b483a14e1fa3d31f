// SPDX-License-Identifier: Apache-2.0

// libsecret, a client of the Secret Service. One importer: CarrelVaultSecretService.
//
// The functions are declared here, not included: GLib's flags in pkg-config have -pthread, which SwiftPM refuses with a warning in every
// build of every package that uses this one. All are stable since GLib 2.40 and libsecret 0.16. Objects are `void *`.
#ifndef CARREL_CSECRET_H
#define CARREL_CSECRET_H

#include <stddef.h>
#include <stdint.h>

typedef struct GError {
    uint32_t domain;
    int code;
    char *_Nonnull message;
} GError;

typedef struct GList {
    void *_Nullable data;
    struct GList *_Nullable next;
    struct GList *_Nullable prev;
} GList;

enum { csecret_bus_session = 2, csecret_io_error_cancelled = 19, csecret_error_is_locked = 2 };
enum { csecret_open_session = 2, csecret_collection_none = 0, csecret_item_create_none = 0, csecret_search_all = 2 };

// GLib
void g_error_free(GError *_Nonnull error);
int g_error_matches(const GError *_Nonnull error, uint32_t domain, int code);
void g_free(void *_Nullable memory);
char *_Nonnull g_strdup(const char *_Nonnull text);
void g_list_free_full(GList *_Nullable list, void (*_Nonnull free)(void *_Nullable));
unsigned int g_str_hash(const void *_Nullable text);
int g_str_equal(const void *_Nullable a, const void *_Nullable b);
void *_Nonnull g_hash_table_new_full(
    unsigned int (*_Nonnull hash)(const void *_Nullable),
    int (*_Nonnull equal)(const void *_Nullable, const void *_Nullable),
    void (*_Nullable free_key)(void *_Nullable),
    void (*_Nullable free_value)(void *_Nullable)
);
int g_hash_table_insert(void *_Nonnull table, void *_Nullable key, void *_Nullable value);
void g_hash_table_unref(void *_Nonnull table);
void g_object_unref(void *_Nullable object);

// GIO
uint32_t g_io_error_quark(void);
void *_Nonnull g_cancellable_new(void);
void g_cancellable_cancel(void *_Nonnull cancellable);
void *_Nullable g_bus_get_sync(int type, void *_Nullable cancellable, GError *_Nullable *_Nonnull error);
void g_dbus_connection_set_exit_on_close(void *_Nonnull connection, int exits);

// libsecret
uint32_t secret_error_get_quark(void);
size_t secret_service_get_type(void);
void *_Nullable secret_service_open_sync(
    size_t type,
    const char *_Nullable bus_name,
    unsigned int flags,
    void *_Nullable cancellable,
    GError *_Nullable *_Nonnull error
);
GList *_Nullable secret_service_search_sync(
    void *_Nonnull service,
    const void *_Nullable schema,
    void *_Nonnull attributes,
    unsigned int flags,
    void *_Nullable cancellable,
    GError *_Nullable *_Nonnull error
);
int secret_service_unlock_sync(
    void *_Nonnull service,
    GList *_Nonnull objects,
    void *_Nullable cancellable,
    GList *_Nullable *_Nonnull unlocked,
    GError *_Nullable *_Nonnull error
);
void *_Nullable secret_collection_for_alias_sync(
    void *_Nonnull service,
    const char *_Nonnull alias,
    unsigned int flags,
    void *_Nullable cancellable,
    GError *_Nullable *_Nonnull error
);
int secret_collection_get_locked(void *_Nonnull collection);
void *_Nullable secret_item_create_sync(
    void *_Nonnull collection,
    const void *_Nullable schema,
    void *_Nonnull attributes,
    const char *_Nonnull label,
    void *_Nonnull value,
    unsigned int flags,
    void *_Nullable cancellable,
    GError *_Nullable *_Nonnull error
);
int secret_item_get_locked(void *_Nonnull item);
int secret_item_load_secret_sync(void *_Nonnull item, void *_Nullable cancellable, GError *_Nullable *_Nonnull error);
void *_Nullable secret_item_get_secret(void *_Nonnull item);
void *_Nonnull secret_value_new(const char *_Nullable secret, ptrdiff_t length, const char *_Nonnull type);
const char *_Nullable secret_value_get(void *_Nonnull value, size_t *_Nonnull length);
void secret_value_unref(void *_Nullable value);

#endif
