// SPDX-License-Identifier: Apache-2.0

/// The header before a raw AAC block.
package enum ADTSFrame {
    /// The header of a frame of AAC-LC at 22,050 Hz.
    ///
    /// - Parameters:
    ///   - channels: 1 or 2.
    ///   - payload: bytes that follow it.
    /// - Returns: seven bytes.
    package static func header(channels: Int, payload: Int) -> [UInt8] {
        header(like: [0xff, 0xf1, 0x5c, UInt8(channels << 6), 0, 0x1f, 0xfc], payload: payload)
    }

    static func header(like header: [UInt8], payload: Int) -> [UInt8] {
        let length = payload + 7
        var header = header
        header[3] = header[3] & 0xfc | UInt8(length >> 11)
        header[4] = UInt8(length >> 3 & 255)
        header[5] = UInt8(length << 5 & 0xe0) | header[5] & 0x1f
        return header
    }
}
