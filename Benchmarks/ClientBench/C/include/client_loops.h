// SPDX-License-Identifier: Apache-2.0

// What libcurl does without us: the floor of the client's measurements.
#ifndef CLIENT_LOOPS_H
#define CLIENT_LOOPS_H

/// Makes `count` GET requests, `parallel` at a time, on one multi handle; bodies are counted and dropped. Returns bytes, or -1.
long loop_requests(const char *_Nonnull url, int count, int parallel);

/// Gets one URL into a file with pwrite from the callback. Returns bytes, or -1.
long loop_download(const char *_Nonnull url, int descriptor);

#endif
