// SPDX-License-Identifier: Apache-2.0

// The processes that descend from this one, and the sockets that they hold, from /proc (proc(5)).
#define _GNU_SOURCE
#include "clinux_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    int id;
    int parent;
    int is_own;
};

// The processes of a machine at most; the limit of Linux is 2^22.
enum { most_processes = 1 << 17 };

// The parent of a process, or -1 when it has ended. Its name may have any characters, so the fields are those after the last bracket.
static int parent_of(int proc, const char *name) {
    char path[64], text[1024];
    if (snprintf(path, sizeof path, "%s/stat", name) >= (int)sizeof path) return -1;
    int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return -1;
    text[count] = 0;
    const char *rest = strrchr(text, ')');
    int parent = -1;
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static int holds(int proc, int process, const char *link) {
    char path[64], target[64];
    snprintf(path, sizeof path, "%d/fd", process);
    int folder = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return 0;
    DIR *list = fdopendir(folder);
    if (!list) {
        close(folder);
        return 0;
    }
    int found = 0;
    size_t length = strlen(link);
    for (struct dirent *entry; !found && (entry = readdir(list));) {
        ssize_t count = readlinkat(dirfd(list), entry->d_name, target, sizeof target);
        found = count == (ssize_t)length && !memcmp(target, link, length);
    }
    closedir(list);
    return found;
}

// Every process and its parent. Returns how many, or minus an errno value.
static int list_processes(int proc, struct process **out) {
    int copy = fcntl(proc, F_DUPFD_CLOEXEC, 0);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list) {
        int error = errno;
        if (copy >= 0) close(copy);
        return -error;
    }
    struct process *processes = NULL;
    int count = 0, room = 0, error = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        char *end;
        long id = strtol(entry->d_name, &end, 10);
        if (*end || id <= 0 || id > 1 << 22) continue;
        int parent = parent_of(proc, entry->d_name);
        if (parent < 0) continue;
        if (count == room) {
            room = room ? room * 2 : 256;
            struct process *longer = room > most_processes ? NULL : reallocarray(processes, (size_t)room, sizeof *processes);
            if (!longer) {
                error = ENOMEM;
                break;
            }
            processes = longer;
        }
        processes[count++] = (struct process){.id = (int)id, .parent = parent};
    }
    closedir(list);
    if (error) {
        free(processes);
        return -error;
    }
    *out = processes;
    return count;
}

static int by_id(const void *a, const void *b) {
    int one = ((const struct process *)a)->id, other = ((const struct process *)b)->id;
    return (one > other) - (one < other);
}

int clinux_own_processes_hold(uint32_t socket) {
    char link[32];
    snprintf(link, sizeof link, "socket:[%u]", socket);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) return -errno;
    int own = getpid();
    // most often it is this very process, which needs no list
    int found = holds(proc, own, link);
    struct process *processes = NULL;
    int count = found ? 0 : list_processes(proc, &processes);
    if (count > 0) qsort(processes, (size_t)count, sizeof *processes, by_id);
    // A generation at a time: ids come around, so that a child may have a lower one than its parent.
    for (int grows = 1; grows && !found;) {
        grows = 0;
        for (int i = 0; i < count && !found; i++) {
            if (processes[i].is_own || processes[i].id == own) continue;
            struct process key = {.id = processes[i].parent};
            const struct process *parent = bsearch(&key, processes, (size_t)count, sizeof *processes, by_id);
            if (key.id != own && !(parent && parent->is_own)) continue;
            processes[i].is_own = grows = 1;
            found = holds(proc, processes[i].id, link);
        }
    }
    free(processes);
    close(proc);
    return found ? 1 : count < 0 ? count : 0;
}
