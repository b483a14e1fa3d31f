// SPDX-License-Identifier: Apache-2.0

// libqpdf's C interface. One importer: CarrelPDF.
#ifndef CARREL_CQPDF_H
#define CARREL_CQPDF_H

#include <qpdf/qpdf-c.h>

#endif
