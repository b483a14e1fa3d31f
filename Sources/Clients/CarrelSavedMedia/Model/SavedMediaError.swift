// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelFiles
import Glibc

/// The reason why a saved package cannot be read or written.
package struct SavedMediaError: CodedError {
    package typealias Code = ErrorCode<SavedMediaError>

    package let code: Code
    /// A lower-case sentence without a period. It names files by their names in the package, never a title or an address.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// A system call that failed.
    ///
    /// - Parameters:
    ///   - action: the action, such as "write 0-1/00000.frag".
    ///   - number: the `errno` of the call.
    init(_ action: String, errno number: Int32) {
        let isFull = [ENOSPC, EDQUOT, EFBIG].contains(number)
        self.init(isFull ? .diskFull : .disk, "cannot \(action): \(systemReason(number))")
    }

    /// A file operation that failed.
    init(_ action: String, _ error: FileError) {
        self.init(action, errno: error.number)
    }
}

extension ErrorCode where Failure == SavedMediaError {
    /// The package does not have the bytes, or not yet.
    package static var missing: Self { Self("saved.missing") }
    /// A file was altered, cut or swapped.
    package static var damaged: Self { Self("saved.damaged") }
    /// The key of the package is absent.
    package static var sealed: Self { Self("saved.sealed") }
    /// A folder is not a package of a known form, or a package would exceed its limits.
    package static var format: Self { Self("saved.format") }
    /// The disk, or the user's quota, is full.
    package static var diskFull: Self { Self("saved.disk-full") }
    /// The disk failed.
    package static var disk: Self { Self("saved.disk") }
}
