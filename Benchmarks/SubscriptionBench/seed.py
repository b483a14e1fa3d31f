# SPDX-License-Identifier: Apache-2.0
"""Fills a home's SQLite file with accounts that are signed in, and with editions.

seed.py DATABASE TOKENS accounts FIRST COUNT PLAN   one session each, whose token goes to the file; all have reader-0's password
seed.py DATABASE - editions FIRST COUNT             published and paid, without content
"""

import base64
import hashlib
import os
import sqlite3
import sys
import time
import uuid

path, tokens, what, first, count = sys.argv[1:6]
numbers = range(int(first), int(first) + int(count))
now = int(time.time() * 1000)
day = 86_400_000
database = sqlite3.connect(path)


def token():
    # 32 random bytes and the first four of their SHA-256
    random = os.urandom(32)
    checked = random + hashlib.sha256(random).digest()[:4]
    return "cs_" + base64.urlsafe_b64encode(checked).rstrip(b"=").decode()


def accounts(plan):
    password = database.execute("SELECT password FROM accounts WHERE name = 'reader-0'").fetchone()[0]
    with open(tokens, "a") as file:
        for number in numbers:
            account, text = str(uuid.uuid4()), token()
            database.execute(
                "INSERT INTO accounts (id, name, created_at, password) VALUES (?, ?, ?, ?)",
                (account, f"reader-{number}", now, password),
            )
            database.execute(
                "INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at, family, seen_at)"
                " VALUES (?, ?, 'session', ?, ?, ?, ?)",
                (hashlib.sha256(text.encode()).digest(), account, now, now + 400 * day, str(uuid.uuid4()), now),
            )
            database.execute(
                "INSERT INTO subscriptions (id, account_id, plan, starts_at, ends_at, created_at) VALUES (?, ?, ?, ?, NULL, ?)",
                (str(uuid.uuid4()), account, plan, now - 100_000 * day, now),
            )
            file.write(text + "\n")


def editions():
    for number in numbers:
        title, product = str(uuid.uuid4()), f"com.example.weekly.issue{number:05}"
        issued = now - (number + 1) * 3_600_000
        database.execute(
            "INSERT INTO titles (id, kind, source_hash, title, metadata, duration_ms, media_blob, segment_index, created_at)"
            " VALUES (?, 'edition', ?, ?, '{}', 0, '', x'', ?)",
            (title, hashlib.sha256(product.encode()).digest(), f"Issue {number}", now),
        )
        database.execute(
            "INSERT INTO editions (title_id, product_id, price, state, issued_at, published_at, updated_at, content_at)"
            " VALUES (?, ?, 'paid', 'published', ?, ?, ?, ?)",
            (title, product, issued, issued, now - day, now - day),
        )


with database:
    if what == "accounts":
        accounts(sys.argv[6])
    else:
        editions()
