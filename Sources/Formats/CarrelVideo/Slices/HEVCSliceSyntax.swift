// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Slice segment headers of H.265 (ISO/IEC 23008-2 §7.3.6).
struct HEVCSliceSyntax: Sendable {
    private var sequences: [Int: HEVCSequenceSyntax] = [:]
    private var pictures: [Int: HEVCPictureSyntax] = [:]

    mutating func readSequence(_ bits: inout ParameterBits) throws(Malformed) {
        let set = try HEVCSequenceSyntax(&bits)
        sequences[set.id] = set
    }

    mutating func readPicture(_ bits: inout ParameterBits) throws(Malformed) {
        let set = try HEVCPictureSyntax(&bits)
        pictures[set.id] = set
    }

    /// Number of bits for `values` values.
    private static func width(_ values: Int) -> Int { values <= 1 ? 0 : Int.bitWidth - (values - 1).leadingZeroBitCount }

    /// Reads a slice header after the first byte of its unit, up to the first byte of the slice data.
    func readHeader(_ bits: inout ParameterBits, _ first: UInt8) throws(Malformed) {
        let type = Int(first >> 1 & 0x3f)
        _ = try bits.bits(8, "NAL unit header")
        let isFirst = try bits.flag("first slice segment")
        if (16...23).contains(type) { _ = try bits.flag("prior pictures") }
        guard let picture = pictures[try bits.unsigned("picture parameter set id", limit: 63)],
            let sequence = sequences[picture.sequence]
        else { throw Malformed("parameter sets of a slice are missing", at: bits.position / 8) }
        var isDependent = false
        if !isFirst {
            if picture.allowsDependentSlices { isDependent = try bits.flag("dependent slice segment") }
            _ = try bits.bits(Self.width(sequence.blockCount), "slice segment address")
        }
        if !isDependent { try readIndependent(&bits, picture, sequence, type) }
        if picture.hasEntryPoints {
            let count = try bits.unsigned("entry points", limit: 440 * 135)
            if count > 0 {
                let length = 1 + (try bits.unsigned("entry point length", limit: 31))
                for _ in 0..<count { _ = try bits.bits(length, "entry point") }
            }
        }
        if picture.hasHeaderExtension {
            for _ in 0..<(try bits.unsigned("header extension", limit: 256)) { _ = try bits.bits(8, "header extension") }
        }
        // byte_alignment(): a one, and zeros
        _ = try bits.flag("alignment")
    }

    private func readIndependent(
        _ bits: inout ParameterBits,
        _ picture: HEVCPictureSyntax,
        _ sequence: HEVCSequenceSyntax,
        _ nalType: Int
    ) throws(Malformed) {
        _ = try bits.bits(picture.extraBits, "reserved flags")
        let type = try bits.unsigned("slice type", limit: 2)
        let isB = type == 0
        if picture.hasOutputFlag { _ = try bits.flag("picture output") }
        if sequence.separatePlanes { _ = try bits.bits(2, "colour plane") }
        var current = 0
        var hasTemporal = false
        if nalType != 19, nalType != 20 {
            _ = try bits.bits(sequence.orderBits, "picture order")
            if try bits.flag("reference set of the sequence") {
                let index = Int(try bits.bits(Self.width(sequence.referenceSets.count), "reference set"))
                guard index < sequence.referenceSets.count else {
                    throw Malformed("reference set \(index) does not exist", at: bits.position / 8)
                }
                current = sequence.referenceSets[index].used
            } else {
                current = try HEVCReferenceSet(&bits, after: sequence.referenceSets, isInSlice: true).used
            }
            if sequence.hasLongTerm { current += try Self.readLongTerm(&bits, sequence) }
            if sequence.hasTemporalPrediction { hasTemporal = try bits.flag("temporal prediction") }
        }
        var hasFilter = false
        if sequence.hasSampleOffset {
            hasFilter = try bits.flag("sample offset")
            if sequence.hasChroma { hasFilter = try bits.flag("sample offset") || hasFilter }
        }
        if type != 2 { try Self.readPrediction(&bits, picture, sequence, isB, current, hasTemporal) }
        _ = try bits.signed("slice quantizer")
        if picture.hasChromaOffsets { for _ in 0..<2 { _ = try bits.signed("chroma quantizer") } }
        if picture.hasChromaOffsetList { _ = try bits.flag("chroma offset") }
        var isDeblocked = !picture.disablesDeblocking
        if picture.overridesDeblocking, try bits.flag("deblocking override") {
            isDeblocked = !(try bits.flag("deblocking"))
            if isDeblocked { for _ in 0..<2 { _ = try bits.signed("deblocking offset") } }
        }
        if picture.filtersAcrossSlices, hasFilter || isDeblocked { _ = try bits.flag("filter across slices") }
    }

    /// Reads the long-term pictures, and returns how many of them the current picture uses.
    private static func readLongTerm(_ bits: inout ParameterBits, _ sequence: HEVCSequenceSyntax) throws(Malformed) -> Int {
        let usage = sequence.longTermUsed
        let fromSequence = usage.isEmpty ? 0 : try bits.unsigned("long-term pictures", limit: 32)
        let own = try bits.unsigned("long-term pictures", limit: 32)
        var used = 0
        for i in 0..<fromSequence + own {
            if i < fromSequence {
                let index = Int(try bits.bits(width(usage.count), "long-term picture"))
                guard index < usage.count else { throw Malformed("long-term picture does not exist", at: bits.position / 8) }
                if usage[index] { used += 1 }
            } else {
                _ = try bits.bits(sequence.orderBits, "picture order")
                if try bits.flag("long-term picture") { used += 1 }
            }
            if try bits.flag("picture order cycle") { _ = try bits.unsigned("picture order cycle", limit: Int(UInt32.max)) }
        }
        return used
    }

    private static func readPrediction(
        _ bits: inout ParameterBits,
        _ picture: HEVCPictureSyntax,
        _ sequence: HEVCSequenceSyntax,
        _ isB: Bool,
        _ current: Int,
        _ hasTemporal: Bool
    ) throws(Malformed) {
        var references = picture.references
        if try bits.flag("reference count override") {
            for list in 0...(isB ? 1 : 0) { references[list] = 1 + (try bits.unsigned("reference count", limit: 14)) }
        }
        if picture.changesLists, current > 1 {
            for list in 0...(isB ? 1 : 0) where try bits.flag("reference list") {
                for _ in 0..<references[list] { _ = try bits.bits(width(current), "reference list entry") }
            }
        }
        if isB { _ = try bits.flag("motion vector difference") }
        if picture.hasCABACFlag { _ = try bits.flag("CABAC table") }
        if hasTemporal {
            let fromFirst = isB ? try bits.flag("collocated picture") : true
            if references[fromFirst ? 0 : 1] > 1 { _ = try bits.unsigned("collocated picture", limit: 14) }
        }
        if isB ? picture.weightsBipredicted : picture.weightsPredicted {
            try skipWeights(&bits, references, lists: isB ? 2 : 1, hasChroma: sequence.hasChroma)
        }
        _ = try bits.unsigned("merge candidates", limit: 4)
    }

    /// §7.3.6.3; pictures of other layers and of the same order are not looked for, which only extensions have.
    private static func skipWeights(
        _ bits: inout ParameterBits,
        _ references: [Int],
        lists: Int,
        hasChroma: Bool
    ) throws(Malformed) {
        _ = try bits.unsigned("weight denominator", limit: 7)
        if hasChroma { _ = try bits.signed("weight denominator") }
        for list in 0..<lists {
            var luma: [Bool] = []
            var chroma: [Bool] = []
            for _ in 0..<references[list] { luma.append(try bits.flag("luma weight")) }
            if hasChroma { for _ in 0..<references[list] { chroma.append(try bits.flag("chroma weight")) } }
            for i in 0..<references[list] {
                if luma[i] { for _ in 0..<2 { _ = try bits.signed("weight") } }
                if hasChroma, chroma[i] { for _ in 0..<4 { _ = try bits.signed("weight") } }
            }
        }
    }
}
