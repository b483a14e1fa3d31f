// SPDX-License-Identifier: Apache-2.0

/// Changes in MP4 files that ffmpeg wrote, for what it does not write.
package enum MP4Patch {
    /// Replaces the decoder configuration of the audio.
    ///
    /// - Parameters:
    ///   - file: AAC with the movie at the end, so that no offset moves.
    ///   - config: an AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1) that replaces the existing one of two or five bytes.
    /// - Returns: the file with the new configuration.
    package static func configured(_ file: [UInt8], _ config: [UInt8]) -> [UInt8] {
        var file = file
        let descriptor = place(of: "esds", in: file) + 8
        // tags 3, 4 and 5, each with a length in four bytes; what lies between has a fixed size (ISO/IEC 14496-1 §7.2.6)
        let specific = descriptor + 5 + 3 + 5 + 13
        let present = Int(file[specific + 4])
        let growth = config.count - present
        for name in ["moov", "trak", "mdia", "minf", "stbl", "stsd", "mp4a", "esds"] {
            let size = place(of: name, in: file) - 4
            let grown = file[size..<size + 4].reduce(0) { $0 << 8 | Int($1) } + growth
            file.replaceSubrange(size..<size + 4, with: [24, 16, 8, 0].map { UInt8(grown >> $0 & 255) })
        }
        for length in [descriptor + 4, descriptor + 12, specific + 4] { file[length] = UInt8(Int(file[length]) + growth) }
        file.replaceSubrange(specific + 5..<specific + 5 + present, with: config)
        return file
    }

    /// Calls the sound by another four characters, such as `drms` for what FairPlay protects.
    package static func renamed(_ file: [UInt8], to name: String) -> [UInt8] {
        var file = file
        let entry = place(of: "mp4a", in: file)
        file.replaceSubrange(entry..<entry + 4, with: Array(name.utf8))
        return file
    }

    private static func place(of name: String, in file: [UInt8]) -> Int {
        let name = Array(name.utf8)
        return file.indices.dropLast(name.count).last { Array(file[$0..<$0 + name.count]) == name } ?? 0
    }
}
