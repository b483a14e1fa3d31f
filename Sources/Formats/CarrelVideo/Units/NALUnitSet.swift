// SPDX-License-Identifier: Apache-2.0

/// The kinds of NAL units that a sample holds.
package struct NALUnitSet: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Coded picture data.
    package static let picture = NALUnitSet(rawValue: 1)
    /// A picture at which decoding can start: the sample is a sync sample.
    package static let randomAccess = NALUnitSet(rawValue: 2)
    /// A sequence parameter set.
    package static let sequenceParameterSet = NALUnitSet(rawValue: 4)
    /// A picture parameter set.
    package static let pictureParameterSet = NALUnitSet(rawValue: 8)
    /// An access unit delimiter.
    package static let delimiter = NALUnitSet(rawValue: 16)

    /// The kinds that a unit of this type belongs to.
    package init(_ type: NALUnitType) {
        if type.isPicture {
            self = type.isRandomAccess ? [.picture, .randomAccess] : .picture
        } else if type.isDelimiter {
            self = .delimiter
        } else if type.isSequenceParameterSet {
            self = .sequenceParameterSet
        } else if type.isPictureParameterSet {
            self = .pictureParameterSet
        } else {
            self = []
        }
    }
}
