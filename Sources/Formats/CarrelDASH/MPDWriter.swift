// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

extension MPD {
    /// The MPD as a document: the contents of this model, in the order of the schema (ISO/IEC 23009-1 Annex B).
    package func write() -> [UInt8] {
        var writer = MPDWriter()
        writer.write(self)
        return writer.finish()
    }
}

/// Writes an MPD element by element.
private struct MPDWriter: ~Copyable {
    private var xml = XMLWriter()

    consuming func finish() -> [UInt8] { xml.finish() }

    mutating func write(_ mpd: MPD) {
        xml.start(
            "MPD",
            [
                "xmlns": MPD.namespace, "xmlns:cenc": "urn:mpeg:cenc:2013", "xmlns:mspr": "urn:microsoft:playready",
                "xmlns:dashif": "https://dashif.org/CPS", "xmlns:mas": "urn:marlin:mas:1-0:services:schemas:mpd",
                "xmlns:sea": "urn:mpeg:dash:schema:sea:2012", "xmlns:xlink": "http://www.w3.org/1999/xlink", "id": mpd.id,
                "type": mpd.kind.rawValue, "profiles": mpd.profiles.isEmpty ? nil : mpd.profiles,
                "availabilityStartTime": mpd.availabilityStartTime?.description,
                "availabilityEndTime": mpd.availabilityEndTime?.description, "publishTime": mpd.publishTime?.description,
                "mediaPresentationDuration": mpd.mediaPresentationDuration.map(XMLDuration.text),
                "minimumUpdatePeriod": mpd.minimumUpdatePeriod.map(XMLDuration.text),
                "minBufferTime": mpd.minBufferTime.map(XMLDuration.text),
                "timeShiftBufferDepth": mpd.timeShiftBufferDepth.map(XMLDuration.text),
                "suggestedPresentationDelay": mpd.suggestedPresentationDelay.map(XMLDuration.text),
                "maxSegmentDuration": mpd.maxSegmentDuration.map(XMLDuration.text),
            ]
        )
        write(mpd.baseURLs)
        for location in mpd.locations { element("Location", text: location) }
        for location in mpd.patchLocations { element("PatchLocation", text: location) }
        for protection in mpd.contentProtections { write(protection) }
        for period in mpd.periods { write(period) }
        write("EssentialProperty", mpd.essentialProperties)
        write("SupplementalProperty", mpd.supplementalProperties)
        write("UTCTiming", mpd.utcTimings)
        end()
    }

    private mutating func start(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?>) {
        xml.newLine()
        xml.start(name, attributes)
    }

    private mutating func end() {
        xml.newLine()
        xml.end()
    }

    private mutating func element(
        _ name: StaticString,
        _ attributes: KeyValuePairs<StaticString, String?> = [:],
        text: String = ""
    ) {
        xml.newLine()
        xml.element(name, attributes, text: text)
    }

    private mutating func write(_ name: StaticString, _ descriptors: [MPDDescriptor]) {
        for descriptor in descriptors {
            element(name, ["schemeIdUri": descriptor.scheme, "value": descriptor.value, "id": descriptor.id])
        }
    }

    private mutating func write(_ bases: [MPDBaseURL]) {
        for base in bases {
            element(
                "BaseURL",
                [
                    "serviceLocation": base.serviceLocation, "byteRange": base.byteRange,
                    "availabilityTimeOffset": base.availabilityTimeOffset?.text,
                    "availabilityTimeComplete": base.availabilityTimeComplete.map { $0 ? "true" : "false" },
                ],
                text: base.url
            )
        }
    }

    private mutating func write(_ labels: [MPDLabel]) {
        for label in labels { element("Label", ["lang": label.language, "id": label.id], text: label.text) }
    }

    private mutating func write(_ period: MPDPeriod) {
        start(
            "Period",
            [
                "xlink:href": period.link?.href, "xlink:actuate": period.link.map { $0.isOnLoad ? "onLoad" : "onRequest" },
                "id": period.id, "start": period.start.map(XMLDuration.text), "duration": period.duration.map(XMLDuration.text),
            ]
        )
        write(period.baseURLs)
        if let information = period.information { write(information) }
        if let asset = period.assetIdentifier { write("AssetIdentifier", [asset]) }
        for stream in period.eventStreams { write(stream, "EventStream") }
        for set in period.adaptationSets { write(set) }
        write("SupplementalProperty", period.supplementalProperties)
        for preselection in period.preselections {
            start(
                "Preselection",
                [
                    "id": preselection.id, "preselectionComponents": preselection.components.joined(separator: " "),
                    "lang": preselection.language, "codecs": preselection.codecs,
                ]
            )
            write("Role", preselection.roles)
            write(preselection.labels)
            end()
        }
        end()
    }

    private mutating func write(_ stream: MPDEventStream, _ name: StaticString) {
        start(
            name,
            [
                "xlink:href": stream.link?.href, "xlink:actuate": stream.link.map { $0.isOnLoad ? "onLoad" : "onRequest" },
                "schemeIdUri": stream.scheme, "value": stream.value,
                "timescale": stream.timescale == 1 ? nil : String(stream.timescale),
                "presentationTimeOffset": stream.presentationTimeOffset == 0 ? nil : String(stream.presentationTimeOffset),
            ]
        )
        for event in stream.events {
            element(
                "Event",
                [
                    "presentationTime": String(event.presentationTime), "duration": event.duration.map { String($0) },
                    "id": event.id,
                    "messageData": event.message,
                ]
            )
        }
        end()
    }

    private mutating func write(_ set: MPDAdaptationSet) {
        let properties = set.properties
        start(
            "AdaptationSet",
            [
                "xlink:href": set.link?.href, "xlink:actuate": set.link.map { $0.isOnLoad ? "onLoad" : "onRequest" },
                "id": set.id,
                "group": set.group.map { String($0) }, "contentType": set.contentType, "lang": set.language, "par": set.par,
                "segmentAlignment": set.segmentAlignment, "selectionPriority": set.selectionPriority.map { String($0) },
                "mimeType": properties.mimeType, "codecs": properties.codecs, "width": properties.width.map { String($0) },
                "height": properties.height.map { String($0) }, "frameRate": properties.frameRate, "sar": properties.sar,
                "audioSamplingRate": properties.audioSamplingRate, "profiles": properties.profiles,
                "startWithSAP": properties.startWithSAP.map { String($0) }, "maxPlayoutRate": properties.maxPlayoutRate,
                "scanType": properties.scanType,
            ]
        )
        write(properties)
        write("Accessibility", set.accessibilities)
        write("Role", set.roles)
        write("Rating", set.ratings)
        write("Viewpoint", set.viewpoints)
        write(set.baseURLs)
        if let information = set.information { write(information) }
        for representation in set.representations { write(representation) }
        end()
    }

    private mutating func write(_ representation: MPDRepresentation) {
        let properties = representation.properties
        start(
            "Representation",
            [
                "id": representation.id, "bandwidth": String(representation.bandwidth),
                "dependencyId": representation.dependencyID,
                "qualityRanking": representation.qualityRanking.map { String($0) }, "mimeType": properties.mimeType,
                "codecs": properties.codecs, "width": properties.width.map { String($0) },
                "height": properties.height.map { String($0) }, "frameRate": properties.frameRate, "sar": properties.sar,
                "audioSamplingRate": properties.audioSamplingRate, "profiles": properties.profiles,
                "startWithSAP": properties.startWithSAP.map { String($0) }, "maxPlayoutRate": properties.maxPlayoutRate,
                "scanType": properties.scanType,
            ]
        )
        write(properties)
        write(representation.baseURLs)
        if let information = representation.information { write(information) }
        end()
    }

    private mutating func write(_ properties: MPDMediaProperties) {
        write("AudioChannelConfiguration", properties.audioChannelConfigurations)
        for protection in properties.contentProtections { write(protection) }
        write("EssentialProperty", properties.essentialProperties)
        write("SupplementalProperty", properties.supplementalProperties)
        for stream in properties.inbandEventStreams { write(stream, "InbandEventStream") }
        write(properties.labels)
    }

    private mutating func write(_ protection: MPDContentProtection) {
        let keyIDs = protection.defaultKeyIDs.map(Self.uuid).joined(separator: " ")
        start(
            "ContentProtection",
            [
                "schemeIdUri": protection.scheme, "value": protection.value, "ref": protection.ref, "refId": protection.refID,
                "robustness": protection.robustness, "cenc:default_KID": keyIDs.isEmpty ? nil : keyIDs,
            ]
        )
        for box in protection.protectionBoxes { element("cenc:pssh", text: Base64.encode(box)) }
        if let object = protection.playReadyObject { element("mspr:pro", text: Base64.encode(object)) }
        for address in protection.licenseURLs { element("dashif:Laurl", text: address) }
        for address in protection.authorizationURLs { element("dashif:authzurl", text: address) }
        if !protection.marlinContentIDs.isEmpty {
            start("mas:MarlinContentIds", [:])
            for id in protection.marlinContentIDs { element("mas:MarlinContentId", text: id) }
            end()
        }
        if let encryption = protection.segmentEncryption {
            element("sea:SegmentEncryption", ["schemeIdUri": encryption.scheme])
            if let system = encryption.keySystem { element("sea:KeySystem", ["keySystemUri": system]) }
            for period in encryption.periods {
                element(
                    "sea:CryptoPeriod",
                    [
                        "offset": period.offset == 0 ? nil : String(period.offset),
                        "numSegments": period.count.map { String($0) },
                        "IV": period.initializationVector.map { "0x" + Hex.encode($0) }, "keyUriTemplate": period.keyURITemplate,
                    ]
                )
            }
        }
        end()
    }

    /// 32 digits with the hyphens of a UUID (RFC 4122 §3).
    private static func uuid(_ digits: String) -> String {
        guard digits.utf8.count == 32 else { return digits }
        var out = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { out += "-" }
            out.append(digit)
        }
        return out
    }

    private mutating func write(_ information: SegmentInformation) {
        let name: StaticString =
            switch information.kind {
            case .base: "SegmentBase"
            case .list: "SegmentList"
            case .template: "SegmentTemplate"
            }
        start(
            name,
            [
                "xlink:href": information.link?.href,
                "xlink:actuate": information.link.map { $0.isOnLoad ? "onLoad" : "onRequest" },
                "timescale": information.timescale.map { String($0) },
                "presentationTimeOffset": information.presentationTimeOffset.map { String($0) },
                "eptDelta": information.eptDelta.map { String($0) }, "indexRange": information.indexRange?.text,
                "indexRangeExact": information.isIndexRangeExact.map { $0 ? "true" : "false" },
                "availabilityTimeOffset": information.availabilityTimeOffset?.text,
                "availabilityTimeComplete": information.availabilityTimeComplete.map { $0 ? "true" : "false" },
                "duration": information.duration.map { String($0) }, "startNumber": information.startNumber.map { String($0) },
                "endNumber": information.endNumber.map { String($0) },
                "k": information.parts.map { String($0) }, "media": information.media?.text,
                "index": information.index?.text, "initialization": information.initializationTemplate?.text,
            ]
        )
        if let address = information.initialization { write("Initialization", address) }
        if let address = information.representationIndex { write("RepresentationIndex", address) }
        if let timeline = information.timeline {
            start("SegmentTimeline", [:])
            for entry in timeline {
                element(
                    "S",
                    [
                        "t": entry.time.map { String($0) }, "n": entry.number.map { String($0) }, "d": String(entry.duration),
                        "r": entry.repeats == 0 ? nil : String(entry.repeats),
                        "k": entry.parts == 1 ? nil : String(entry.parts),
                    ]
                )
            }
            end()
        }
        for segment in information.segments ?? [] {
            element(
                "SegmentURL",
                [
                    "media": segment.media.url, "mediaRange": segment.media.range?.text, "index": segment.index.url,
                    "indexRange": segment.index.range?.text,
                ]
            )
        }
        end()
    }

    private mutating func write(_ name: StaticString, _ address: SegmentInformation.Address) {
        element(name, ["sourceURL": address.url, "range": address.range?.text])
    }
}
