// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelMP4

/// The part of a file that devices change: rights embedded in the file, and the id that tracks their transaction (`mdri`, OMA DRM
/// Content Format 2.0).
package struct DCFMutableInformation: Sendable, Hashable {
    /// The 16 bytes that track a transaction (`odtt`).
    package var transactionID: [UInt8]?
    /// Embedded licenses (`odrb`), verbatim.
    package var rights: [[UInt8]]
    /// Other boxes, verbatim.
    package var otherBoxes: [UInt8]

    /// Bytes of the box that are read at most.
    package static let limit = 1 << 20

    /// - Parameters:
    ///   - rights: embedded licenses.
    ///   - transactionID: 16 bytes.
    package init(rights: [[UInt8]] = [], transactionID: [UInt8]? = nil) {
        self.rights = rights
        self.transactionID = transactionID
        otherBoxes = []
    }

    /// Reads the content of an `mdri` box.
    ///
    /// - Parameters:
    ///   - bytes: the content.
    ///   - base: the offset of the content in the file, for errors.
    /// - Throws: `Malformed` with the fault and its place in the file.
    package init(_ bytes: RawSpan, base: Int = 0) throws(Malformed) {
        var found = DCFMutableInformation()
        try MemoryBoxList.forEach(in: bytes, base: base) { type, box, content, at throws(Malformed) in
            switch type {
            case "odtt":
                guard content.byteCount == 20 else { throw Malformed("transaction id does not have 16 bytes", at: at) }
                guard found.transactionID == nil else { throw Malformed("there are two transaction ids", at: at) }
                found.transactionID = [UInt8](copying: content.extracting(droppingFirst: 4))
            case "odrb":
                guard content.byteCount >= 4 else { throw Malformed("rights object is cut off", at: at) }
                found.rights.append([UInt8](copying: content.extracting(droppingFirst: 4)))
            default: found.otherBoxes.append(copying: box)
            }
        }
        self = found
    }

    /// The box.
    package var box: [UInt8] {
        var writer = BoxWriter()
        writer.box("mdri") { writer in
            if let transactionID { writer.fullBox("odtt") { $0.append(transactionID) } }
            for license in rights { writer.fullBox("odrb") { $0.append(license) } }
            writer.append(otherBoxes)
        }
        return writer.bytes
    }
}
