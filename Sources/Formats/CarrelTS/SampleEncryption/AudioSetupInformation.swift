// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The description of an encrypted audio stream in its registration descriptor (MPEG-2 Stream Encryption Format for HTTP Live
/// Streaming, `audio_setup_information`).
package struct AudioSetupInformation: Sendable, Hashable {
    /// The kind of audio.
    package enum AudioType: String, Sendable, Hashable, CaseIterable {
        /// AAC Low Complexity.
        case aac = "zaac"
        /// HE-AAC.
        case heAAC = "zach"
        /// HE-AAC version 2.
        case heAACv2 = "zacp"
        /// AC-3.
        case ac3 = "zac3"
        /// E-AC-3.
        case enhancedAC3 = "zec3"
    }

    /// The kind of audio.
    package var type: AudioType
    /// Samples that a decoder needs before the first that is heard.
    package var priming: UInt16
    /// The setup of the decoder: the audio specific config of AAC, the first ten bytes of an AC-3 syncframe, the content of
    /// `dec3`.
    package var setup: [UInt8]

    /// The letters in front of it in the registration descriptor.
    static let format: StaticString = "apad"

    /// Creates a description; of the setup at most 243 bytes fit.
    package init(type: AudioType, priming: UInt16 = 0, setup: [UInt8]) {
        self.type = type
        self.priming = priming
        self.setup = setup
    }

    /// Reads the content of the registration descriptor after its four letters.
    ///
    /// - Parameter bytes: exactly the description.
    /// - Throws: if the type is unknown, the version is not 1, or a length is wrong.
    package init(_ bytes: RawSpan) throws(Malformed) {
        guard let type = AudioType.allCases.first(where: { bytes.begins(with: $0) }) else {
            throw Malformed("type of encrypted audio is unknown", at: 0)
        }
        var cursor = ByteCursor(bytes)
        try cursor.skip(4, "audio type")
        self.type = type
        priming = try cursor.u16("priming")
        guard try cursor.u8("version") == 1 else { throw Malformed("version of the audio setup is not 1", at: 6) }
        let length = Int(try cursor.u8("setup length"))
        setup = [UInt8](copying: try cursor.slice(length, "setup"))
        try cursor.finish("audio setup")
    }

    /// The content of the registration descriptor after its four letters.
    package var bytes: [UInt8] {
        var out = Array(type.rawValue.utf8)
        out.append(bigEndian: priming)
        let setup = setup.prefix(243)
        return out + [1, UInt8(setup.count)] + setup
    }
}

extension RawSpan {
    fileprivate func begins(with type: AudioSetupInformation.AudioType) -> Bool {
        let letters = Array(type.rawValue.utf8)
        return byteCount >= letters.count && letters.indices.allSatisfy { u8(at: $0) == letters[$0] }
    }
}
