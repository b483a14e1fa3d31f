// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelRights
import CarrelXML

extension CPIXDocument {
    /// Writes the document. Signatures and what the reader ignores are not written.
    ///
    /// - Parameters:
    ///   - version: the edition of the format, which names playlists and periods differently.
    ///   - certificates: the recipients to whom keys are encrypted; none for keys in the clear. The document's own recipients are not
    ///     written.
    ///   - rsaBits: bits of a recipient's RSA key, at least.
    /// - Returns: the document in UTF-8.
    /// - Throws: `cpix.recipient` for a certificate that is too weak; `cpix.missing-key` for a key that is still encrypted.
    package func write(
        as version: Version,
        to certificates: [Certificate] = [],
        rsaBits: Int = CPIXLimits().rsaBits
    ) throws(CPIXError) -> [UInt8] {
        var seal = CPIXSeal()
        var lists: [XMLElement] = []
        if !certificates.isEmpty {
            var recipients: [XMLElement] = []
            for (index, certificate) in certificates.enumerated() {
                try CPIXRecipient.check(certificate, named: "recipient \(index + 1)", rsaBits: rsaBits)
                let key = CPIXElement.cpix("DeliveryKey", children: [CPIXElement.certificate(certificate.der)])
                recipients.append(CPIXElement.cpix("DeliveryData", children: [key] + (try seal.elements(for: certificate))))
            }
            lists.append(CPIXElement.cpix("DeliveryDataList", children: recipients))
        }
        var elements: [XMLElement] = []
        elements.reserveCapacity(keys.count)
        for key in keys {
            var data: [XMLElement] = []
            switch key.value {
            case .none: break
            case .clear(let secret): data = [certificates.isEmpty ? CPIXSeal.clearData(secret) : try seal.data(secret)]
            case .encrypted: throw CPIXError(.missingKey, "the key \(key.id.uuid) is still encrypted")
            }
            elements.append(key.element(data))
        }
        lists.append(CPIXElement.cpix("ContentKeyList", children: elements))
        if !systems.isEmpty { lists.append(CPIXElement.cpix("DRMSystemList", children: systems.map { $0.element(version) })) }
        if !periods.isEmpty {
            lists.append(CPIXElement.cpix("ContentKeyPeriodList", children: periods.map { $0.element(version) }))
        }
        if !rules.isEmpty { lists.append(CPIXElement.cpix("ContentKeyUsageRuleList", children: rules.map(\.element))) }
        let root = CPIXElement.cpix("CPIX", ["id": id, "contentId": contentID, "version": version.rawValue], children: lists)
        var writer = XMLWriter()
        writer.root(root, prefixes: CPIXNamespace.prefixes)
        return writer.finish()
    }
}

extension CPIXKey {
    fileprivate func element(_ data: [XMLElement]) -> XMLElement {
        CPIXElement.cpix(
            "ContentKey",
            [
                "kid": id.uuid, "explicitIV": explicitIV.map { Base64.encode($0) }, "dependsOnKey": dependsOn?.uuid,
                "commonEncryptionScheme": scheme,
            ],
            children: data
        )
    }
}

extension CPIXSystem {
    fileprivate func element(_ version: CPIXDocument.Version) -> XMLElement {
        var children: [XMLElement] = []
        for (name, value) in [("PSSH", protectionBox), ("ContentProtectionData", contentProtection), ("URIExtXKey", keyURI)] {
            if let value { children.append(CPIXElement.cpix(name, text: Base64.encode(value))) }
        }
        let playlists: [(Playlist?, String?)] = [
            (nil, nil), (.media, "media"), (.multivariant, version == .v23 ? "master" : "multiVariant"),
        ]
        for (playlist, name) in playlists {
            guard let lines = hlsSignaling[playlist] else { continue }
            children.append(CPIXElement.cpix("HLSSignalingData", ["playlist": name], text: Base64.encode(lines)))
        }
        if let smoothStreaming {
            children.append(CPIXElement.cpix("SmoothStreamingProtectionHeaderData", text: smoothStreaming))
        }
        return CPIXElement.cpix(
            "DRMSystem",
            ["systemId": system.uuid, "kid": keyID.uuid, "name": name],
            children: children
        )
    }
}

extension CPIXPeriod {
    fileprivate func element(_ version: CPIXDocument.Version) -> XMLElement {
        let hasOffsets = version == .v24
        return CPIXElement.cpix(
            "ContentKeyPeriod",
            [
                "id": id, "index": index.map(String.init), "start": start?.description, "end": end?.description,
                "startOffset": hasOffsets ? startOffset : nil, "endOffset": hasOffsets ? endOffset : nil,
            ]
        )
    }
}

extension CPIXRule {
    fileprivate var element: XMLElement {
        var filters: [XMLElement] = []
        for id in periods { filters.append(CPIXElement.cpix("KeyPeriodFilter", ["periodId": id])) }
        for label in labels { filters.append(CPIXElement.cpix("LabelFilter", ["label": label])) }
        for filter in video {
            filters.append(
                CPIXElement.cpix(
                    "VideoFilter",
                    [
                        "minPixels": filter.pixels.lower.map(String.init), "maxPixels": filter.pixels.upper.map(String.init),
                        "hdr": filter.isHDR.map(String.init), "wcg": filter.hasWideGamut.map(String.init),
                        "minFps": filter.framesPerSecond.lower.map(String.init),
                        "maxFps": filter.framesPerSecond.upper.map(String.init),
                    ]
                )
            )
        }
        for channels in audio {
            filters.append(
                CPIXElement.cpix(
                    "AudioFilter",
                    ["minChannels": channels.lower.map(String.init), "maxChannels": channels.upper.map(String.init)]
                )
            )
        }
        for bitrate in bitrates {
            filters.append(
                CPIXElement.cpix(
                    "BitrateFilter",
                    ["minBitrate": bitrate.lower.map(String.init), "maxBitrate": bitrate.upper.map(String.init)]
                )
            )
        }
        return CPIXElement.cpix("ContentKeyUsageRule", ["kid": keyID.uuid, "intendedTrackType": trackType], children: filters)
    }
}
