// SPDX-License-Identifier: Apache-2.0

import CPKCS11

/// Attributes of an object, to find it or make it.
struct PKCS11Attributes {
    private var entries: [(type: CK_ATTRIBUTE_TYPE, offset: Int, count: Int)] = []
    private var bytes: [UInt8] = []

    func with(_ type: CK_ATTRIBUTE_TYPE, _ value: [UInt8]) -> Self {
        var copy = self
        copy.entries.append((type, bytes.count, value.count))
        // aligned, because some values are numbers
        copy.bytes += value + [UInt8](repeating: 0, count: (8 - value.count % 8) % 8)
        return copy
    }

    func with(_ type: CK_ATTRIBUTE_TYPE, _ value: CK_ULONG) -> Self {
        with(type, unsafe withUnsafeBytes(of: value) { unsafe Array($0) })
    }

    func with(_ type: CK_ATTRIBUTE_TYPE, _ value: Bool) -> Self { with(type, [value ? 1 : 0]) }

    /// Lends the attributes as the module expects them.
    func lend<Value>(_ body: (UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG) -> Value) -> Value {
        var bytes = bytes
        return unsafe bytes.withUnsafeMutableBytes { bytes in
            var list = unsafe entries.map { entry in
                unsafe CK_ATTRIBUTE(
                    type: entry.type,
                    pValue: bytes.baseAddress.map { unsafe $0 + entry.offset },
                    ulValueLen: CK_ULONG(entry.count)
                )
            }
            return unsafe list.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress, CK_ULONG($0.count)) }
        }
    }
}
