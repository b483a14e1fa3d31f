// SPDX-License-Identifier: Apache-2.0

/// Attributes and elements that adaptation sets and representations share (ISO/IEC 23009-1 §5.3.7).
package struct MPDMediaProperties: Sendable, Hashable {
    package var mimeType: String?
    /// The codecs (RFC 6381).
    package var codecs: String?
    package var width: Int64?
    package var height: Int64?
    /// Frames per second, as written: a number or a fraction.
    package var frameRate: String?
    /// The shape of a sample, such as `1:1`.
    package var sar: String?
    /// The sampling rate verbatim: one rate, or the minimum and the maximum.
    package var audioSamplingRate: String?
    package var profiles: String?
    package var startWithSAP: Int64?
    package var maxPlayoutRate: String?
    package var scanType: String?
    package var contentProtections: [MPDContentProtection] = []
    package var audioChannelConfigurations: [MPDDescriptor] = []
    package var essentialProperties: [MPDDescriptor] = []
    package var supplementalProperties: [MPDDescriptor] = []
    package var inbandEventStreams: [MPDEventStream] = []
    package var labels: [MPDLabel] = []

    package init() {}

    /// The properties in force below another level.
    package func inheriting(_ upper: MPDMediaProperties) -> MPDMediaProperties {
        var merged = self
        merged.mimeType = mimeType ?? upper.mimeType
        merged.codecs = codecs ?? upper.codecs
        merged.width = width ?? upper.width
        merged.height = height ?? upper.height
        merged.frameRate = frameRate ?? upper.frameRate
        merged.sar = sar ?? upper.sar
        merged.audioSamplingRate = audioSamplingRate ?? upper.audioSamplingRate
        merged.profiles = profiles ?? upper.profiles
        merged.startWithSAP = startWithSAP ?? upper.startWithSAP
        merged.maxPlayoutRate = maxPlayoutRate ?? upper.maxPlayoutRate
        merged.scanType = scanType ?? upper.scanType
        merged.contentProtections = MPDContentProtection.merged(upper.contentProtections, contentProtections)
        if audioChannelConfigurations.isEmpty { merged.audioChannelConfigurations = upper.audioChannelConfigurations }
        merged.essentialProperties = upper.essentialProperties + essentialProperties
        merged.supplementalProperties = upper.supplementalProperties + supplementalProperties
        if inbandEventStreams.isEmpty { merged.inbandEventStreams = upper.inbandEventStreams }
        if labels.isEmpty { merged.labels = upper.labels }
        return merged
    }
}

/// One encoding of the content of an adaptation set (ISO/IEC 23009-1 §5.3.5).
package struct MPDRepresentation: Sendable, Hashable {
    package var id: String
    /// Bits per second.
    package var bandwidth: UInt64
    package var dependencyID: String?
    package var qualityRanking: Int64?
    package var properties = MPDMediaProperties()
    package var baseURLs: [MPDBaseURL] = []
    package var information: SegmentInformation?

    package init(id: String, bandwidth: UInt64) {
        self.id = id
        self.bandwidth = bandwidth
    }
}

/// Representations that a player may change between (ISO/IEC 23009-1 §5.3.3).
package struct MPDAdaptationSet: Sendable, Hashable {
    package var id: String?
    package var group: Int64?
    /// `video`, `audio`, `text`, …
    package var contentType: String?
    /// RFC 5646.
    package var language: String?
    /// The shape of the picture, such as `16:9`.
    package var par: String?
    /// The value verbatim: a Boolean, or a number in early MPDs.
    package var segmentAlignment: String?
    package var selectionPriority: Int64?
    package var properties = MPDMediaProperties()
    package var roles: [MPDDescriptor] = []
    package var accessibilities: [MPDDescriptor] = []
    package var viewpoints: [MPDDescriptor] = []
    package var ratings: [MPDDescriptor] = []
    package var baseURLs: [MPDBaseURL] = []
    package var information: SegmentInformation?
    package var representations: [MPDRepresentation] = []
    package var link: MPDLink?

    package init() {}

    /// The kind of media: @contentType, or the first part of a media type of the set or its representations.
    package var kind: String? {
        if let contentType { return contentType }
        let type = properties.mimeType ?? representations.lazy.compactMap(\.properties.mimeType).first
        return type.flatMap { $0.split(separator: "/").first.map(String.init) }
    }
}

/// Adaptation sets that make one experience together (ISO/IEC 23009-1 §5.3.11).
package struct MPDPreselection: Sendable, Hashable {
    package var id: String?
    /// Ids of adaptation sets or content components.
    package var components: [String] = []
    package var language: String?
    package var codecs: String?
    package var roles: [MPDDescriptor] = []
    package var labels: [MPDLabel] = []

    package init() {}
}

/// A part of the presentation in time (ISO/IEC 23009-1 §5.3.2).
package struct MPDPeriod: Sendable, Hashable {
    package var id: String?
    package var start: Duration?
    package var duration: Duration?
    package var baseURLs: [MPDBaseURL] = []
    package var information: SegmentInformation?
    package var adaptationSets: [MPDAdaptationSet] = []
    package var eventStreams: [MPDEventStream] = []
    package var preselections: [MPDPreselection] = []
    package var assetIdentifier: MPDDescriptor?
    package var supplementalProperties: [MPDDescriptor] = []
    package var link: MPDLink?

    package init(id: String? = nil, start: Duration? = nil, duration: Duration? = nil) {
        self.id = id
        self.start = start
        self.duration = duration
    }
}
