// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import Glibc

/// A system call on a file that failed.
package struct FileError: CodedError {
    package typealias Code = ErrorCode<FileError>

    package let code: Code
    /// The file or folder.
    package let path: String
    /// The `errno` of the call.
    package let number: Int32

    init(_ code: Code, _ path: String, _ number: Int32 = errno) {
        self.code = code
        self.path = path
        self.number = number
    }

    package var message: String {
        switch code {
        case .read: "cannot read \(path): \(reason)"
        case .kind: "\(path) is not a regular file"
        case .sync: "cannot make \(path) durable: \(reason)"
        default: "cannot write \(path): \(reason)"
        }
    }

    /// The system's message for the `errno`, in lower case.
    package var reason: String { systemReason(number) }
}

extension ErrorCode where Failure == FileError {
    /// The file cannot be opened or read.
    package static var read: Self { Self("file.read") }
    /// The path does not lead to a regular file.
    package static var kind: Self { Self("file.kind") }
    /// The file cannot be created, written or given its name; the existing file is untouched.
    package static var write: Self { Self("file.write") }
    /// The file is in place, but the folder cannot be synced: a power cut may bring the old file back.
    package static var sync: Self { Self("file.sync") }
}

/// The system's message for an `errno`, in lower case.
package func systemReason(_ number: Int32 = errno) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) }?.lowercased() ?? "error \(number)"
}
