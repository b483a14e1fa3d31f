// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension ElementaryStream {
    /// Stream types in the clear and encrypted, with the letters of the private data indicator.
    private static let encryptedTypes: [(clear: UInt8, encrypted: UInt8, letters: String)] = [
        (0x1b, 0xdb, "zavc"), (0x0f, 0xcf, "aacd"), (0x81, 0xc1, "ac3d"), (0x87, 0xc2, "ec3d"),
    ]

    /// The description of the same stream with encrypted samples; nil if the format does not protect such a stream, or of audio
    /// without its setup.
    package func sampleEncrypted(setup: AudioSetupInformation? = nil) -> ElementaryStream? {
        guard let entry = Self.encryptedTypes.first(where: { $0.clear == type }) else { return nil }
        var encryptedDescriptors = [StreamDescriptor.privateData(entry.letters)]
        if entry.clear != 0x1b {
            guard let setup else { return nil }
            encryptedDescriptors.append(.registration("apad", setup.bytes))
        }
        // a registration in the clear names the clear format
        encryptedDescriptors += descriptors.filter { $0.tag != 0x05 }
        return ElementaryStream(pid: pid, type: entry.encrypted, descriptors: encryptedDescriptors)
    }

    /// The description of the same stream with samples in the clear; itself when they are.
    package var clear: ElementaryStream {
        guard let entry = Self.encryptedTypes.first(where: { $0.encrypted == type }) else { return self }
        var clearDescriptors = descriptors.filter {
            !$0.names(AudioSetupInformation.format, tag: 0x05) && !($0.tag == 0x0f && $0.content == Array(entry.letters.utf8))
        }
        if entry.clear == 0x81 { clearDescriptors.insert(.registration("AC-3"), at: 0) }
        if entry.clear == 0x87 { clearDescriptors.insert(.registration("EAC3"), at: 0) }
        return ElementaryStream(pid: pid, type: entry.clear, descriptors: clearDescriptors)
    }

    /// The setup of encrypted audio; nil if the stream has none that can be read.
    package var audioSetup: AudioSetupInformation? {
        guard let descriptor = descriptors.first(where: { $0.names(AudioSetupInformation.format, tag: 0x05) }) else { return nil }
        let content = descriptor.content
        return try? AudioSetupInformation(content.rawSpan.extracting(4..<content.count))
    }
}
