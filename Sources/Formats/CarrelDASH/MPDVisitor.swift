// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Builds an MPD from the elements of a document.
final class MPDVisitor: XMLVisitor {
    private(set) var mpd: MPD?
    /// The first thing that was wrong, and the number of its element.
    private(set) var fault: (what: String, element: Int)?
    /// The number of the element of each representation, by its places.
    private(set) var elements: [[Int]: Int] = [:]

    private var stack: [Element] = []
    private var number = -1  // of the element
    private var text = ""
    private(set) var takesText = false

    // the open elements
    private var period: MPDPeriod?
    private var set: MPDAdaptationSet?
    private var representation: MPDRepresentation?
    private var representations = 0
    /// Descriptors and the like of the open set or representation.
    private var properties = 0
    /// Bytes that the MPD takes in memory so far, about.
    private var keptBytes = 0
    private var preselection: MPDPreselection?
    private var information: SegmentInformation?
    private var timeline = TimelineState()
    private var protection: MPDContentProtection?
    private var stream: MPDEventStream?
    private var event: MPDEventStream.Event?

    func start(_ tag: borrowing XMLTag) {
        number += 1
        guard fault == nil else { return }
        if timeline.isOpen {
            do throws(MPDFault) {
                if timeline.start(), tag.isNamed("S") { timeline.add(try SegmentInformation.TimelineEntry(tag)) }
                keptBytes &+= MemoryLayout<SegmentInformation.TimelineEntry>.stride
                if keptBytes > Self.keptLimit { try keep(0) }
            } catch {
                fault = (error.what, number)
            }
            return
        }
        do throws(MPDFault) {
            let element = try open(tag)
            try keep(element.size(tag))
            stack.append(element)
        } catch {
            fault = (error.what, number)
            stack.append(.other)
        }
        takesText = false
        if case .text = stack.last { takesText = true } else if case .event = stack.last { takesText = true }
        text = ""
    }

    /// Most bytes that an MPD takes in memory, about: some 250,000 entries of timelines.
    private static let keptLimit = 10 << 20

    /// Counts memory that stays in use.
    private func keep(_ size: Int) throws(MPDFault) {
        keptBytes += size
        guard keptBytes <= Self.keptLimit else { throw MPDFault("MPD has too many elements") }
    }

    private func descriptor(_ tag: borrowing XMLTag) throws(MPDFault) -> MPDDescriptor {
        try keep(MemoryLayout<MPDDescriptor>.stride + tag.valueBytes)
        return MPDDescriptor(tag)
    }

    func take(_ text: String) {
        guard takesText, self.text.utf8.count + text.utf8.count <= 1 << 20 else { return }
        keptBytes += text.utf8.count
        self.text += text
    }

    func end() {
        guard fault == nil else { return }
        if timeline.isOpen {
            guard let entries = timeline.end() else { return }
            information?.timeline = entries
        }
        guard let element = stack.popLast() else { return }
        close(element)
        text = ""
        takesText = false
        if case .event = stack.last { takesText = true }
    }

    private func open(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        guard let parent = stack.last else {
            guard tag.isNamed("MPD") else { throw MPDFault("document is not an MPD") }
            mpd = try MPD(tag)
            return .mpd
        }
        switch parent {
        case .other, .timeline, .text, .listed: return .other
        case .mpd: return try openInMPD(tag)
        case .period: return try openInPeriod(tag)
        case .adaptationSet: return try openInSet(tag)
        case .representation: return try openProperty(tag)
        case .preselection:
            if tag.isNamed("Role") { preselection?.roles.append(try descriptor(tag)) }
            return tag.isNamed("Label") ? .text(.label(MPDLabel(tag))) : .other
        case .information: return try openInInformation(tag)
        case .protection: return try openInProtection(tag)
        case .segmentEncryption, .cryptoTimeline: return .other
        case .marlinContentIDs: return tag.isNamed("MarlinContentId") ? .text(.marlinContentID) : .other
        case .eventStream:
            guard tag.isNamed("Event") else { return .other }
            event = try MPDEventStream.Event(tag)
            return .event
        case .inbandEventStream, .event: return .other
        }
    }

    private func openInMPD(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        if tag.isNamed("Period") {
            guard mpd?.periods.count ?? 0 < 10_000 else { throw MPDFault("MPD has too many periods") }
            period = try MPDPeriod(tag)
            return .period
        }
        if tag.isNamed("BaseURL") { return .text(.baseURL(try MPDBaseURL(tag))) }
        if tag.isNamed("Location") { return .text(.location) }
        if tag.isNamed("PatchLocation") { return .text(.patchLocation) }
        if tag.isNamed("UTCTiming") { mpd?.utcTimings.append(try descriptor(tag)) }
        if tag.isNamed("EssentialProperty") { mpd?.essentialProperties.append(try descriptor(tag)) }
        if tag.isNamed("SupplementalProperty") { mpd?.supplementalProperties.append(try descriptor(tag)) }
        if tag.isNamed("ContentProtection") { return try openProtection(tag) }
        return .other
    }

    private func openInPeriod(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        if tag.isNamed("AdaptationSet") {
            set = try MPDAdaptationSet(tag)
            properties = 0
            return .adaptationSet
        }
        if tag.isNamed("BaseURL") { return .text(.baseURL(try MPDBaseURL(tag))) }
        if tag.isNamed("EventStream") {
            stream = try MPDEventStream(tag)
            return .eventStream
        }
        if tag.isNamed("AssetIdentifier") { period?.assetIdentifier = try descriptor(tag) }
        if tag.isNamed("SupplementalProperty") { period?.supplementalProperties.append(try descriptor(tag)) }
        if tag.isNamed("Preselection") {
            preselection = MPDPreselection(tag)
            return .preselection
        }
        return try openInformation(tag) ?? .other
    }

    private func openInSet(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        if tag.isNamed("Representation") {
            elements[[mpd?.periods.count ?? 0, period?.adaptationSets.count ?? 0, set?.representations.count ?? 0]] = number
            representations += 1
            guard representations <= 10_000 else { throw MPDFault("MPD has too many representations") }
            representation = try MPDRepresentation(tag)
            properties = 0
            return .representation
        }
        if tag.isNamed("Role") { set?.roles.append(try descriptor(tag)) }
        if tag.isNamed("Accessibility") { set?.accessibilities.append(try descriptor(tag)) }
        if tag.isNamed("Viewpoint") { set?.viewpoints.append(try descriptor(tag)) }
        if tag.isNamed("Rating") { set?.ratings.append(try descriptor(tag)) }
        return try openProperty(tag)
    }

    private func add(_ descriptor: MPDDescriptor, to path: WritableKeyPath<MPDMediaProperties, [MPDDescriptor]>) {
        if representation != nil {
            representation?.properties[keyPath: path].append(descriptor)
        } else {
            set?.properties[keyPath: path].append(descriptor)
        }
    }

    /// Takes an element that adaptation sets and representations share.
    private func openProperty(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        properties += 1
        guard properties <= 1000 else { throw MPDFault("set or representation has too many elements") }
        if tag.isNamed("ContentProtection") { return try openProtection(tag) }
        if tag.isNamed("BaseURL") { return .text(.baseURL(try MPDBaseURL(tag))) }
        if tag.isNamed("Label") { return .text(.label(MPDLabel(tag))) }
        if tag.isNamed("AudioChannelConfiguration") { add(try descriptor(tag), to: \.audioChannelConfigurations) }
        if tag.isNamed("EssentialProperty") { add(try descriptor(tag), to: \.essentialProperties) }
        if tag.isNamed("SupplementalProperty") { add(try descriptor(tag), to: \.supplementalProperties) }
        if tag.isNamed("InbandEventStream") {
            let stream = try MPDEventStream(tag)
            try keep(MemoryLayout<MPDEventStream>.stride + tag.valueBytes)
            if representation != nil {
                representation?.properties.inbandEventStreams.append(stream)
            } else {
                set?.properties.inbandEventStreams.append(stream)
            }
        }
        return try openInformation(tag) ?? .other
    }

    private func openInformation(_ tag: borrowing XMLTag) throws(MPDFault) -> Element? {
        let kind: SegmentInformation.Kind
        if tag.isNamed("SegmentTemplate") {
            kind = .template
        } else if tag.isNamed("SegmentList") {
            kind = .list
        } else if tag.isNamed("SegmentBase") {
            kind = .base
        } else {
            return nil
        }
        information = try SegmentInformation(kind, tag)
        return .information
    }

    private func openInInformation(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        if tag.isNamed("SegmentTimeline") {
            timeline.open()
            return .timeline
        }
        if tag.isNamed("SegmentURL") {
            let segment = try SegmentInformation.ListedSegment(tag)
            if information?.segments == nil { information?.segments = [] }
            information?.segments?.append(segment)
            return .listed
        }
        if tag.isNamed("Initialization") || tag.isNamed("Initialisation") {
            information?.initialization = try SegmentInformation.Address(tag, "sourceURL", "range")
        }
        if tag.isNamed("RepresentationIndex") {
            information?.representationIndex = try SegmentInformation.Address(tag, "sourceURL", "range")
        }
        return .other
    }

    private func openProtection(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        protection = try MPDContentProtection(tag)
        return .protection
    }

    private func openInProtection(_ tag: borrowing XMLTag) throws(MPDFault) -> Element {
        if tag.isNamed("pssh") { return .text(.pssh) }
        if tag.isNamed("pro") { return .text(.playReady) }
        if tag.isNamed("Laurl") || tag.isNamed("laurl") {
            if let address = tag.value("licenseUrl") {
                protection?.licenseURLs.append(address)
                return .other
            }
            return .text(.licenseURL)
        }
        if tag.isNamed("authzurl") { return .text(.authorizationURL) }
        if tag.isNamed("MarlinContentIds") { return .marlinContentIDs }
        guard
            tag.isNamed("SegmentEncryption") || tag.isNamed("KeySystem") || tag.isNamed("CryptoPeriod")
                || tag.isNamed("CryptoTimeline")
        else { return .other }
        var encryption = protection?.segmentEncryption ?? MPDSegmentEncryption()
        // so that its periods are not copied
        protection?.segmentEncryption = nil
        let before = encryption.periods.count
        if tag.isNamed("SegmentEncryption") { encryption.scheme = tag["schemeIdUri"] ?? tag["encryptionSystemUri"] }
        if tag.isNamed("KeySystem") { encryption.keySystem = tag["keySystemUri"] }
        if tag.isNamed("CryptoPeriod") {
            guard encryption.periods.count < 100_000 else { throw MPDFault("segment encryption has too many periods") }
            encryption.periods.append(try MPDSegmentEncryption.Period(tag))
        }
        if tag.isNamed("CryptoTimeline") { try MPDSegmentEncryption.Period.add(tag, to: &encryption.periods) }
        let size = MemoryLayout<MPDSegmentEncryption.Period>.stride + 64 + tag.valueBytes
        try keep((encryption.periods.count - before) * size)
        protection?.segmentEncryption = encryption
        return .other
    }

    private func close(_ element: Element) {
        switch element {
        case .text(let kind): close(kind)
        case .information:
            guard let information else { return }
            self.information = nil
            guard information.link?.href != MPDLink.nothing else { return }
            if representation != nil {
                representation?.information = information
            } else if set != nil {
                set?.information = information
            } else {
                period?.information = information
            }
        case .protection:
            guard let protection else { return }
            self.protection = nil
            if representation != nil {
                representation?.properties.contentProtections.append(protection)
            } else if set != nil {
                set?.properties.contentProtections.append(protection)
            } else {
                mpd?.contentProtections.append(protection)
            }
        case .event:
            guard var event else { return }
            self.event = nil
            if event.message == nil, !text.isEmpty { event.message = text }
            stream?.events.append(event)
        case .eventStream:
            if let stream, stream.link?.href != MPDLink.nothing { period?.eventStreams.append(stream) }
            stream = nil
        case .representation:
            if let representation { set?.representations.append(representation) }
            representation = nil
        case .adaptationSet:
            if let set, set.link?.href != MPDLink.nothing { period?.adaptationSets.append(set) }
            set = nil
        case .preselection:
            if let preselection { period?.preselections.append(preselection) }
            preselection = nil
        case .period:
            if let period, period.link?.href != MPDLink.nothing { mpd?.periods.append(period) }
            period = nil
        case .mpd, .timeline, .listed, .segmentEncryption, .cryptoTimeline, .marlinContentIDs, .inbandEventStream, .other: break
        }
    }

    private func close(_ kind: Text) {
        let text = MPDText.trimmed(text)
        switch kind {
        case .baseURL(var base):
            base.url = text
            if representation != nil {
                representation?.baseURLs.append(base)
            } else if set != nil {
                set?.baseURLs.append(base)
            } else if period != nil {
                period?.baseURLs.append(base)
            } else {
                mpd?.baseURLs.append(base)
            }
        case .label(var label):
            label.text = text
            if preselection != nil {
                preselection?.labels.append(label)
            } else if representation != nil {
                representation?.properties.labels.append(label)
            } else {
                set?.properties.labels.append(label)
            }
        case .location: mpd?.locations.append(text)
        case .patchLocation: mpd?.patchLocations.append(text)
        case .pssh:
            if let box = Base64.decode(MPDText.withoutBlanks(text)), !box.isEmpty { protection?.protectionBoxes.append(box) }
        case .playReady:
            if let object = Base64.decode(MPDText.withoutBlanks(text)), !object.isEmpty { protection?.playReadyObject = object }
        // some manifests have the element in both of its forms
        case .licenseURL: if !text.isEmpty, protection?.licenseURLs.last != text { protection?.licenseURLs.append(text) }
        case .authorizationURL:
            if !text.isEmpty, protection?.authorizationURLs.last != text { protection?.authorizationURLs.append(text) }
        case .marlinContentID: protection?.marlinContentIDs.append(text)
        }
    }
}
