// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whether the long tests run as well: kills by the hundred, a million forgeries (`make test-long`).
package let longRun = unsafe getenv("CARREL_LONG") != nil
