// SPDX-License-Identifier: Apache-2.0

// The TCG software stack for TPM 2.0: enhanced system API. One importer: CarrelVaultTPM.
#ifndef CARREL_CTSS2_H
#define CARREL_CTSS2_H

#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_tctildr.h>

#endif
