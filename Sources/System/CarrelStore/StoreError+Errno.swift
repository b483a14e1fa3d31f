// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import Glibc

extension StoreError {
    /// The store error for a system call's error number.
    ///
    /// - Parameters:
    ///   - number: the `errno`.
    ///   - what: the failed operation, such as "the blob cannot be written".
    package init(errno number: Int32, _ what: String) {
        let reason = systemReason(number)
        switch number {
        case ENOSPC, EDQUOT, EFBIG: self.init(.full, "\(what): \(reason)")
        case ENOENT: self.init(.notFound, "\(what): \(reason)")
        default: self.init(.unavailable, "\(what): \(reason)")
        }
    }
}
