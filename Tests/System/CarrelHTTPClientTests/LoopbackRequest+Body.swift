// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc

func setEnvironment(_ name: String, _ value: String) {
    unsafe setenv(name, value, 1)
}

extension LoopbackRequest {
    /// Whether this is the body; `#expect` would spell out millions of bytes where they differ.
    func has(_ bytes: some Sequence<UInt8>) -> Bool { body == Array(bytes) }
}
