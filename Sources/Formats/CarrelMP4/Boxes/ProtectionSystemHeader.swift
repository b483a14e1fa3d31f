// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The data of a protection system for its players (`pssh`, ISO/IEC 23001-7 §8.1).
package struct ProtectionSystemHeader: Sendable, Hashable {
    /// The 16 bytes of the system's id.
    package let system: [UInt8]
    /// The keys it speaks of; none in version 0.
    package let keyIDs: [KeyID]
    /// Data that only the system understands.
    package let data: [UInt8]

    /// - Parameters:
    ///   - system: the 16 bytes of the system's id.
    ///   - keyIDs: the keys it speaks of.
    ///   - data: the system's own data.
    package init(system: [UInt8], keyIDs: [KeyID] = [], data: [UInt8] = []) {
        self.system = system
        self.keyIDs = keyIDs
        self.data = data
    }

    /// Reads the content of a `pssh` box, or of PIFF's `uuid` box for the same; nil if it is another box, or damaged.
    package init?(_ type: FourCC, _ content: RawSpan) {
        do throws(Malformed) {
            var cursor = ByteCursor(content)
            if type == "uuid" {
                let type = [UInt8](copying: try cursor.slice(16))
                guard type == TrackEncryption.piffSystem else { return nil }
            } else if type != "pssh" {
                return nil
            }
            let version = try cursor.u8()
            try cursor.skip(3)
            system = [UInt8](copying: try cursor.slice(16))
            var keyIDs: [KeyID] = []
            if version > 0 {
                let count = Int(try cursor.u32())
                guard count <= cursor.remaining / 16 else { return nil }
                for _ in 0..<count { keyIDs.append(try KeyID(&cursor)) }
            }
            self.keyIDs = keyIDs
            data = [UInt8](copying: try cursor.slice(Int(try cursor.u32())))
        } catch {
            return nil
        }
    }

    /// Writes the box, in version 1 when it names keys.
    package func write(to writer: inout BoxWriter) {
        writer.fullBox("pssh", version: keyIDs.isEmpty ? 0 : 1) { writer in
            writer.append(system)
            if !keyIDs.isEmpty {
                writer.u32(UInt32(clamping: keyIDs.count))
                for id in keyIDs { writer.append(id.bytes) }
            }
            writer.u32(UInt32(clamping: data.count))
            writer.append(data)
        }
    }

    /// The system's name for people; nil of one that Carrel does not know.
    package var name: String? { Self.names[Hex.encode(system)] }

    /// The common system of the standard, which has key IDs and no data (W3C "cenc" Initialization Data Format §4).
    package static let common: [UInt8] = [
        0x10, 0x77, 0xef, 0xec, 0xc0, 0xb2, 0x4d, 0x02, 0xac, 0xe3, 0x3c, 0x1e, 0x52, 0xe2, 0xfb, 0x4b,
    ]
    /// ClearKey as DASH-IF names it.
    package static let clearKey: [UInt8] = [
        0xe2, 0x71, 0x9d, 0x58, 0xa9, 0x85, 0xb3, 0xc9, 0x78, 0x1a, 0xb0, 0x30, 0xaf, 0x78, 0xd3, 0x0e,
    ]

    /// Carrel's own licenses, which have the keys that the header names.
    package static let carrel: [UInt8] = [
        0xe5, 0xa7, 0xc0, 0xa4, 0xb9, 0x2b, 0x45, 0x39, 0x85, 0xd1, 0x77, 0xcd, 0xfa, 0x93, 0x39, 0xb7,
    ]

    private static let names = [
        "1077efecc0b24d02ace33c1e52e2fb4b": "Common", "e2719d58a985b3c9781ab030af78d30e": "ClearKey",
        "9a04f07998404286ab92e65be0885f95": "PlayReady", "edef8ba979d64acea3c827dcd51d21ed": "Widevine",
        "69f908af481646ea910ccd5dcccb0a3a": "Marlin", "94ce86fb07ff4f43adb893d2fa968ca2": "FairPlay",
        "f239e769efa348509c16a903c6932efb": "Primetime", "e5a7c0a4b92b453985d177cdfa9339b7": "Carrel",
    ]
}
