// SPDX-License-Identifier: Apache-2.0

import CCommonPasswords
import CarrelBytes
import CarrelCrypto

/// The most common passwords, in any case, with or without digits appended. Only prefixes of their hashes are stored.
enum CommonPasswords {
    /// The number of appended digits that do not make a common password a different one: a date is the longest suffix that
    /// guessing programs try.
    private static let digits = 8

    /// Whether a password is common, or is a common one followed by up to eight digits, such as `letmein123`.
    static func contains(_ password: String) -> Bool {
        let lower = password.lowercased()
        if isListed(lower) { return true }
        var base = Substring(lower)
        for _ in 0..<digits {
            guard let last = base.unicodeScalars.last, ("0"..."9").contains(last) else { return false }
            base.unicodeScalars.removeLast()
            // A password of digits is listed only as a whole, not by a part of it.
            if base.unicodeScalars.contains(where: { !("0"..."9").contains($0) }), isListed(String(base)) { return true }
        }
        return false
    }

    private static func isListed(_ text: String) -> Bool {
        let wanted = Array(SHA256.hash(Array(text.utf8).rawSpan).prefix(8))
        let hashes = unsafe UnsafeBufferPointer(start: ccommonpasswords_hashes, count: ccommonpasswords_count)
        var (low, high) = (0, hashes.count / 8)
        while low < high {
            let middle = (low + high) / 2
            let found = unsafe Array(hashes[middle * 8..<middle * 8 + 8])
            if found == wanted { return true }
            if found.lexicographicallyPrecedes(wanted) { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
