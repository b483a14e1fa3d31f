// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension Secret {
    /// The bytes of several secrets, one after another, without a copy in other memory.
    package static func joined(_ parts: [Secret]) -> Secret {
        let count = parts.reduce(0) { $0 + $1.count }
        let joined = unsafe Secret(count: count) { start in
            var offset = 0
            for part in parts {
                part.withBytes { bytes in
                    unsafe bytes.withUnsafeBytes { bytes in
                        guard let source = bytes.baseAddress else { return }
                        unsafe UnsafeMutableRawPointer(start + offset).copyMemory(from: source, byteCount: bytes.count)
                    }
                }
                offset += part.count
            }
            return true
        }
        guard let joined else { preconditionFailure("the bytes were copied") }
        return joined
    }
}
