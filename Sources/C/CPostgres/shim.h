// SPDX-License-Identifier: Apache-2.0

// PostgreSQL's client library, and its macros that Swift cannot see.
#ifndef CARREL_CPOSTGRES_H
#define CARREL_CPOSTGRES_H

#include <libpq-fe.h>

/// One field of an error: its SQLSTATE.
static inline const char *_Nullable cpostgres_sqlstate(const PGresult *_Nullable result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/// One field of an error: the message without detail, hint or place, which may contain values.
static inline const char *_Nullable cpostgres_message(const PGresult *_Nullable result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

/// One field of an error: the name of the constraint that refused a row.
static inline const char *_Nullable cpostgres_constraint(const PGresult *_Nullable result) {
    return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}

#endif
