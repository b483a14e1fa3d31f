// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A representation in its place: its period's time, its base address, and all that it inherits.
package struct MPDStream: Sendable {
    package let period: MPD.Timing
    /// The places of period, adaptation set and representation in the MPD.
    package let position: (period: Int, adaptationSet: Int, representation: Int)
    package let id: String
    package let bandwidth: UInt64
    /// The representation's own properties, and the set's.
    private let own: MPDMediaProperties
    private let upper: MPDMediaProperties
    /// Descriptors of content protection that others refer to, by their ids.
    private let references: [String: MPDContentProtection]
    package let baseURL: String
    /// How segments are addressed; nil for one segment that is the base address itself.
    package let information: SegmentInformation?
    package let availabilityTimeOffset: MPDTimeOffset?
    /// Whether a segment is complete when it becomes available (@availabilityTimeComplete): false if it grows while it is made.
    package let availabilityTimeComplete: Bool
    /// Whether another representation of the set before it is not addressed in the same way.
    let hasInformationOfItsOwn: Bool

    init(
        period: MPD.Timing,
        position: (period: Int, adaptationSet: Int, representation: Int),
        representation: MPDRepresentation,
        upper: MPDMediaProperties,
        references: [String: MPDContentProtection],
        baseURL: String,
        information: SegmentInformation?,
        availabilityTimeOffset: MPDTimeOffset?,
        availabilityTimeComplete: Bool
    ) {
        self.period = period
        self.position = position
        id = representation.id
        bandwidth = representation.bandwidth
        own = representation.properties
        self.upper = upper
        self.references = references
        self.baseURL = baseURL
        self.information = information
        self.availabilityTimeOffset = availabilityTimeOffset
        self.availabilityTimeComplete = availabilityTimeComplete
        hasInformationOfItsOwn = position.representation == 0 || representation.information != nil
    }

    /// Its properties merged with the set's, computed on access.
    package var properties: MPDMediaProperties {
        var properties = own.inheriting(upper)
        if !references.isEmpty {
            properties.contentProtections = properties.contentProtections.map { $0.completed(by: references) }
        }
        return properties
    }

    /// The key ids of all descriptors, without repetition.
    package var keyIDs: [String] {
        var ids: [String] = []
        var seen: Set<String> = []
        for id in properties.contentProtections.lazy.flatMap(\.defaultKeyIDs) where seen.insert(id).inserted { ids.append(id) }
        return ids
    }

    /// The initialization segment; nil if segments need none, or contain it.
    package var initialization: (url: String, byteRange: MPDByteRange?)? {
        guard let information else { return nil }
        if let template = information.initializationTemplate {
            let values = URLTemplate.Values(representationID: id, bandwidth: bandwidth)
            return (URIReference.resolve(template.expand(values), against: baseURL), nil)
        }
        guard let address = information.initialization else { return nil }
        return (URIReference.resolve(address.url ?? "", against: baseURL), address.range)
    }

    /// Most bytes of the base address, and of what a template adds to it: each of ten thousand representations has its own.
    private static let addressLimit = 8192

    /// Refuses addresses that grow out of proportion to the MPD.
    func checkAddresses() throws(Malformed) {
        guard baseURL.utf8.count <= Self.addressLimit else { throw Malformed("base address is too long", at: 0) }
        for template in [information?.media, information?.initializationTemplate, information?.index] {
            guard template?.mostBytes(id: id) ?? 0 <= Self.addressLimit else {
                throw Malformed("addresses of a template are too long", at: 0)
            }
        }
    }
}

extension MPD {
    /// Every representation in document order, with its indexes.
    ///
    /// - Parameter url: the address of the MPD; without it, relative addresses stay relative.
    /// - Returns: the representations with everything that they inherit.
    package func streams(url: String? = nil) -> [MPDStream] {
        var streams: [MPDStream] = []
        forEachStream(url: url) { streams.append($0) }
        return streams
    }

    /// Takes every representation in its place, one after the other.
    func forEachStream<E: Error>(url: String?, _ body: (MPDStream) throws(E) -> Void) throws(E) {
        let references = references
        let whole = Base(url: url ?? "", offset: nil).below(baseURLs)
        for (periodIndex, (period, timing)) in zip(periods, timings).enumerated() {
            let periodBase = whole.below(period.baseURLs)
            for (setIndex, set) in period.adaptationSets.enumerated() {
                let setBase = periodBase.below(set.baseURLs)
                let setInformation = Self.merged(set.information, period.information)
                for (index, representation) in set.representations.enumerated() {
                    let base = setBase.below(representation.baseURLs)
                    let information = Self.merged(representation.information, setInformation)
                    var offset = information?.availabilityTimeOffset
                    if let own = offset { offset = own + base.offset } else { offset = base.offset }
                    try body(
                        MPDStream(
                            period: timing,
                            position: (periodIndex, setIndex, index),
                            representation: representation,
                            upper: set.properties,
                            references: references,
                            baseURL: base.url,
                            information: information,
                            availabilityTimeOffset: offset,
                            availabilityTimeComplete: information?.availabilityTimeComplete ?? base.isComplete ?? true
                        )
                    )
                }
            }
        }
    }

    /// An address, with its effect on the availability of segments.
    private struct Base {
        var url: String
        var offset: MPDTimeOffset?
        var isComplete: Bool?

        /// The first of several is taken: the others are alternatives.
        func below(_ bases: [MPDBaseURL]) -> Base {
            guard let first = bases.first else { return self }
            var offset = offset
            if let own = first.availabilityTimeOffset { offset = own + offset }
            return Base(
                url: URIReference.resolve(first.url, against: url),
                offset: offset,
                isComplete: first.availabilityTimeComplete ?? isComplete
            )
        }
    }

    private static func merged(_ lower: SegmentInformation?, _ upper: SegmentInformation?) -> SegmentInformation? {
        lower.map { $0.inheriting(upper) } ?? upper
    }

    /// The descriptors of content protection that others may refer to (ISO/IEC 23009-1 §5.8.4.1, @refId); none if none does.
    private var references: [String: MPDContentProtection] {
        var protections: [String: MPDContentProtection] = [:]
        var hasReferences = false
        func add(_ list: [MPDContentProtection]) {
            for protection in list {
                if let id = protection.refID { protections[id] = protection }
                if protection.ref != nil { hasReferences = true }
            }
        }
        add(contentProtections)
        for period in periods {
            for set in period.adaptationSets {
                add(set.properties.contentProtections)
                for representation in set.representations { add(representation.properties.contentProtections) }
            }
        }
        return hasReferences ? protections : [:]
    }
}
