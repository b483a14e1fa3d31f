// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Slice headers of H.264 (ISO/IEC 14496-10 §7.3.3).
struct AVCSliceSyntax: Sendable {
    private struct Sequence: Sendable {
        var separatePlanes = false
        var chromaFormat = 1
        var frameNumberBits = 4
        var orderType = 0
        var orderBits = 4
        var orderDeltaIsZero = false
        var framesOnly = true
    }
    private struct Picture: Sendable {
        var sequence = 0
        var isCABAC = false
        var hasFieldOrder = false
        var references = [1, 1]
        var weightsPredicted = false
        var biprediction = 0
        var hasDeblocking = false
        var hasRedundant = false
    }

    private var sequences: [Int: Sequence] = [:]
    private var pictures: [Int: Picture] = [:]

    /// Reads a sequence parameter set after the NAL unit header (§7.3.2.1.1).
    mutating func readSequence(_ bits: inout ParameterBits) throws(Malformed) {
        let profile = UInt8(try bits.bits(8, "profile"))
        _ = try bits.bits(16, "constraint flags and level")
        let id = try bits.unsigned("sequence parameter set id", limit: 31)
        var set = Sequence()
        if AVCSequenceParameterSet.highProfiles.contains(profile) {
            set.chromaFormat = try bits.unsigned("chroma format", limit: 3)
            if set.chromaFormat == 3 { set.separatePlanes = try bits.flag("separate colour planes") }
            _ = try bits.unsigned("luma bit depth", limit: 6)
            _ = try bits.unsigned("chroma bit depth", limit: 6)
            _ = try bits.flag("transform bypass")
            if try bits.flag("scaling matrix") { try Self.skipScaling(&bits, lists: set.chromaFormat == 3 ? 12 : 8) }
        }
        set.frameNumberBits = 4 + (try bits.unsigned("frame number length", limit: 12))
        set.orderType = try bits.unsigned("picture order type", limit: 2)
        if set.orderType == 0 { set.orderBits = 4 + (try bits.unsigned("picture order length", limit: 12)) }
        if set.orderType == 1 {
            set.orderDeltaIsZero = try bits.flag("picture order delta")
            _ = try bits.signed("picture order offset")
            _ = try bits.signed("picture order offset")
            for _ in 0..<(try bits.unsigned("picture order cycle", limit: 255)) { _ = try bits.signed("picture order offset") }
        }
        _ = try bits.unsigned("reference frames", limit: 16)
        _ = try bits.flag("gaps in frame numbers")
        _ = try bits.unsigned("width", limit: 4095)
        _ = try bits.unsigned("height", limit: 4095)
        set.framesOnly = try bits.flag("frames only")
        sequences[id] = set
    }

    private static func skipScaling(_ bits: inout ParameterBits, lists: Int) throws(Malformed) {
        for list in 0..<lists where try bits.flag("scaling list") {
            var last = 8
            var next = 8
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last + (try bits.signed("scaling delta"))) & 255 }
                if next != 0 { last = next }
            }
        }
    }

    /// Reads a picture parameter set after the NAL unit header (§7.3.2.2).
    mutating func readPicture(_ bits: inout ParameterBits) throws(Malformed) {
        let id = try bits.unsigned("picture parameter set id", limit: 255)
        var set = Picture()
        set.sequence = try bits.unsigned("sequence parameter set id", limit: 31)
        set.isCABAC = try bits.flag("entropy coding mode")
        set.hasFieldOrder = try bits.flag("field order")
        guard try bits.unsigned("slice groups", limit: 7) == 0 else {
            throw Malformed("pictures with several slice groups cannot be encrypted", at: bits.position / 8)
        }
        for list in 0...1 { set.references[list] = 1 + (try bits.unsigned("reference count", limit: 31)) }
        set.weightsPredicted = try bits.flag("weighted prediction")
        set.biprediction = Int(try bits.bits(2, "weighted biprediction"))
        for _ in 0..<3 { _ = try bits.signed("quantizer") }
        set.hasDeblocking = try bits.flag("deblocking control")
        _ = try bits.flag("constrained intra prediction")
        set.hasRedundant = try bits.flag("redundant pictures")
        pictures[id] = set
    }

    /// Reads a slice header after the first byte of its unit, up to the first byte of the slice data.
    func readHeader(_ bits: inout ParameterBits, _ first: UInt8) throws(Malformed) {
        let isIDR = first & 31 == 5
        _ = try bits.unsigned("first macroblock", limit: 1 << 20)
        let type = try bits.unsigned("slice type", limit: 9) % 5
        let isB = type == 1
        let isPredicted = type == 0 || type == 3 || isB
        guard let picture = pictures[try bits.unsigned("picture parameter set id", limit: 255)],
            let sequence = sequences[picture.sequence]
        else { throw Malformed("parameter sets of a slice are missing", at: bits.position / 8) }
        if sequence.separatePlanes { _ = try bits.bits(2, "colour plane") }
        _ = try bits.bits(sequence.frameNumberBits, "frame number")
        var isField = false
        if !sequence.framesOnly {
            isField = try bits.flag("field")
            if isField { _ = try bits.flag("bottom field") }
        }
        if isIDR { _ = try bits.unsigned("IDR picture id", limit: 65_535) }
        if sequence.orderType == 0 {
            _ = try bits.bits(sequence.orderBits, "picture order")
            if picture.hasFieldOrder, !isField { _ = try bits.signed("picture order delta") }
        }
        if sequence.orderType == 1, !sequence.orderDeltaIsZero {
            _ = try bits.signed("picture order delta")
            if picture.hasFieldOrder, !isField { _ = try bits.signed("picture order delta") }
        }
        if picture.hasRedundant { _ = try bits.unsigned("redundant picture", limit: 127) }
        if isB { _ = try bits.flag("direct prediction") }
        var references = picture.references
        if isPredicted, try bits.flag("reference count override") {
            for list in 0...(isB ? 1 : 0) { references[list] = 1 + (try bits.unsigned("reference count", limit: 31)) }
        }
        if isPredicted { for _ in 0...(isB ? 1 : 0) { try Self.skipReordering(&bits) } }
        if picture.weightsPredicted && isPredicted && !isB || picture.biprediction == 1 && isB {
            let hasChroma = sequence.chromaFormat != 0 && !sequence.separatePlanes
            try Self.skipWeights(&bits, references, lists: isB ? 2 : 1, hasChroma: hasChroma)
        }
        if first >> 5 & 3 != 0 { try Self.skipMarking(&bits, isIDR: isIDR) }
        if picture.isCABAC, isPredicted { _ = try bits.unsigned("CABAC table", limit: 2) }
        _ = try bits.signed("slice quantizer")
        if type >= 3 {
            if type == 3 { _ = try bits.flag("switching") }
            _ = try bits.signed("switching quantizer")
        }
        if picture.hasDeblocking, try bits.unsigned("deblocking", limit: 2) != 1 {
            for _ in 0..<2 { _ = try bits.signed("deblocking offset") }
        }
    }

    /// §7.3.3.1.
    private static func skipReordering(_ bits: inout ParameterBits) throws(Malformed) {
        guard try bits.flag("reordering") else { return }
        for _ in 0...66 {
            if try bits.unsigned("reordering", limit: 3) == 3 { return }
            _ = try bits.unsigned("picture number", limit: 1 << 17)
        }
        throw Malformed("reference list has too many changes", at: bits.position / 8)
    }

    /// §7.3.3.2.
    private static func skipWeights(
        _ bits: inout ParameterBits,
        _ references: [Int],
        lists: Int,
        hasChroma: Bool
    ) throws(Malformed) {
        _ = try bits.unsigned("weight denominator", limit: 7)
        if hasChroma { _ = try bits.unsigned("weight denominator", limit: 7) }
        for list in 0..<lists {
            for _ in 0..<references[list] {
                if try bits.flag("luma weight") { for _ in 0..<2 { _ = try bits.signed("weight") } }
                if hasChroma, try bits.flag("chroma weight") { for _ in 0..<4 { _ = try bits.signed("weight") } }
            }
        }
    }

    /// §7.3.3.3.
    private static func skipMarking(_ bits: inout ParameterBits, isIDR: Bool) throws(Malformed) {
        if isIDR {
            _ = try bits.bits(2, "reference marking")
            return
        }
        guard try bits.flag("reference marking") else { return }
        for _ in 0...66 {
            let operation = try bits.unsigned("reference marking", limit: 6)
            if operation == 0 { return }
            if operation != 5 { _ = try bits.unsigned("reference marking", limit: 1 << 17) }
            if operation == 3 { _ = try bits.unsigned("reference marking", limit: 1 << 17) }
        }
        throw Malformed("reference marking has too many operations", at: bits.position / 8)
    }
}
