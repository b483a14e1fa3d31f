// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The contents of boxes found in a file of ISO base media, by name alone: enough to reach records that another tool wrote.
enum MediaBoxes {
    /// The content of each box with this type, wherever the four letters follow a plausible size.
    static func contents(_ type: String, in file: [UInt8]) -> [[UInt8]] {
        let name = Array(type.utf8)
        var found: [[UInt8]] = []
        var at = 4
        while at + 4 <= file.count {
            if file[at] == name[0], Array(file[at..<at + 4]) == name {
                let size = Int(file.rawSpan.u32(at: at - 4))
                if size >= 8, at - 4 + size <= file.count { found.append(Array(file[at + 4..<at - 4 + size])) }
            }
            at += 1
        }
        return found
    }
}
