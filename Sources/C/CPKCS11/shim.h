// SPDX-License-Identifier: Apache-2.0

// PKCS#11 2.40: types and numbers only, the modules are loaded at run time. One importer: CarrelVaultPKCS11.
#ifndef CARREL_CPKCS11_H
#define CARREL_CPKCS11_H

#include <p11-kit/pkcs11.h>

#endif
