// SPDX-License-Identifier: Apache-2.0

// The Intel Multi-Buffer Crypto library, which is made for x86-64. One importer: CarrelCrypto.
#ifndef CIPSECMB_SHIM_H
#define CIPSECMB_SHIM_H

#include <intel-ipsec-mb.h>
#include <string.h>

/// The maximum number of messages in a group.
enum { cipsecmb_most = 32 };

/// Most bytes of a message that the library takes in one call, in whole blocks: it counts in 16 bits.
enum { cipsecmb_step = 65520 };

/// A group of messages with their expanded keys.
struct cipsecmb_group {
    struct {
        _Alignas(64) uint8_t encrypting[16 * 11];
        _Alignas(64) uint8_t decrypting[16 * 11];
        _Alignas(16) uint8_t iv[16];
    } keys[cipsecmb_most];
    IMB_JOB jobs[cipsecmb_most];
    /// Bytes of each message that are not submitted yet.
    size_t left[cipsecmb_most];
    size_t count;
};

/// Bytes of a group, which lies on a boundary of 64 and begins as zeros.
enum { cipsecmb_group_size = sizeof(struct cipsecmb_group) };

/// The library's state for one thread at a time; NULL when it does not start on this processor.
static inline IMB_MGR *_Nullable cipsecmb_manager(void) {
    IMB_MGR *manager = alloc_mb_mgr(0);
    if (manager) init_mb_mgr_auto(manager, NULL);
    if (manager && imb_get_errno(manager) != 0) {
        free_mb_mgr(manager);
        return NULL;
    }
    return manager;
}

/// Adds a message of whole blocks, not empty, to be encrypted in place. Key and vector, 16 bytes each, are copied.
static inline void cipsecmb_add(
    IMB_MGR *_Nonnull manager,
    void *_Nonnull memory,
    const void *_Nonnull key,
    const void *_Nonnull iv,
    void *_Nonnull bytes,
    size_t count
) {
    struct cipsecmb_group *group = (struct cipsecmb_group *)memory;
    size_t i = group->count++;
    IMB_JOB *job = &group->jobs[i];
    IMB_AES_KEYEXP_128(manager, key, group->keys[i].encrypting, group->keys[i].decrypting);
    memcpy(group->keys[i].iv, iv, 16);
    job->enc_keys = group->keys[i].encrypting;
    job->dec_keys = group->keys[i].decrypting;
    job->key_len_in_bytes = IMB_KEY_128_BYTES;
    job->iv = group->keys[i].iv;
    job->iv_len_in_bytes = 16;
    job->src = (const uint8_t *)bytes;
    job->dst = (uint8_t *)bytes;
    group->left[i] = count;
}

/// AES-128-CBC without padding over the messages of a group, side by side. Returns whether all were encrypted: if not, none may be
/// used. The caller wipes the group.
static inline int cipsecmb_encrypt(IMB_MGR *_Nonnull manager, void *_Nonnull memory) {
    struct cipsecmb_group *group = (struct cipsecmb_group *)memory;
    IMB_JOB *jobs = group->jobs;
    uint32_t count = (uint32_t)group->count;
    while (count > 0) {
        for (uint32_t i = 0; i < count; i++) {
            size_t step = group->left[i] < cipsecmb_step ? group->left[i] : cipsecmb_step;
            jobs[i].msg_len_to_cipher_in_bytes = step;
            group->left[i] -= step;
        }
        if (IMB_SUBMIT_CIPHER_BURST(manager, jobs, count, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, IMB_KEY_128_BYTES) != count) return 0;
        uint32_t rest = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (jobs[i].status != IMB_STATUS_COMPLETED) return 0;
            if (group->left[i] == 0) continue;
            IMB_JOB job = jobs[i];
            job.dst += job.msg_len_to_cipher_in_bytes;
            job.src = job.dst;
            memcpy((void *)job.iv, job.dst - 16, 16);  // the vector of what follows is the block before it
            group->left[rest] = group->left[i];
            jobs[rest++] = job;
        }
        count = rest;
    }
    return 1;
}

#endif
