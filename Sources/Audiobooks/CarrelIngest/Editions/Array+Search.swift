// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// The next offset of a text, byte for byte.
    func index(of text: String, from start: Int = 0) -> Int? {
        let needle = Array(text.utf8)
        guard let first = needle.first else { return nil }
        var at = start
        while at + needle.count <= count {
            guard let next = self[at...].firstIndex(of: first), next + needle.count <= count else { return nil }
            if self[next..<next + needle.count].elementsEqual(needle) { return next }
            at = next + 1
        }
        return nil
    }
}
