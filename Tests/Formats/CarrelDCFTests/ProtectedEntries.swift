// SPDX-License-Identifier: Apache-2.0

import CarrelDCF
import CarrelMP4
import Testing

/// The protections of all tracks.
enum ProtectedEntries {
    static func all(_ file: MP4File) throws -> [UInt32: MP4Protection] {
        var found: [UInt32: MP4Protection] = [:]
        for track in file.tracks { found[track.id] = track.protection }
        return found
    }
}

extension [UInt32: MP4Protection] {
    func sampleProtection(_ id: UInt32) throws -> SampleProtection {
        let protection = try #require(self[id])
        return try #require(try SampleProtection(protection))
    }
}
