// SPDX-License-Identifier: Apache-2.0

/// An entry of an archive that is left out, as its name leads out of the folder that it is written to.
package struct OmittedArchiveEntry: Sendable, Hashable {
    /// The harmless parts of its name, without the parts that lead elsewhere: only to identify the kind of file.
    package let parts: [String]
    /// The name, and why it is left out: a sentence without a period.
    package let message: String

    init(_ rawName: [UInt8], _ message: String) {
        parts = ArchiveName.withSlashes(rawName).split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0 != ".." }
        self.message = message
    }
}
