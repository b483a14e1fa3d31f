// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The fields of an H.265 sequence parameter set that slice headers depend on (ISO/IEC 23008-2 §7.3.2.2).
struct HEVCSequenceSyntax: Sendable {
    let id: Int
    let separatePlanes: Bool
    /// Whether chroma is coded with luma.
    let hasChroma: Bool
    /// Coding tree blocks of a picture.
    let blockCount: Int
    let orderBits: Int
    /// Most pictures that are decoded before a picture and presented after it, with all temporal layers.
    let reorderedPictures: Int
    let hasSampleOffset: Bool
    let referenceSets: [HEVCReferenceSet]
    let hasLongTerm: Bool
    /// Whether each long-term picture that it names is used.
    let longTermUsed: [Bool]
    let hasTemporalPrediction: Bool

    /// Reads the set after the NAL unit header.
    init(_ bits: inout ParameterBits) throws(Malformed) {
        _ = try bits.bits(4, "video parameter set id")
        let layers = Int(try bits.bits(3, "temporal layers"))
        _ = try bits.flag("temporal nesting")
        _ = try HEVCProfile(&bits, layers: layers)
        id = try bits.unsigned("sequence parameter set id", limit: 15)
        let format = try bits.unsigned("chroma format", limit: 3)
        separatePlanes = format == 3 ? try bits.flag("separate colour planes") : false
        hasChroma = format != 0 && !separatePlanes
        let width = try bits.unsigned("width", limit: 65_535)
        let height = try bits.unsigned("height", limit: 65_535)
        if try bits.flag("cropping") { for _ in 0..<4 { _ = try bits.unsigned("cropping", limit: 65_535) } }
        _ = try bits.unsigned("luma bit depth", limit: 8)
        _ = try bits.unsigned("chroma bit depth", limit: 8)
        orderBits = 4 + (try bits.unsigned("picture order length", limit: 12))
        let all = try bits.flag("layer ordering")
        var reordered = 0
        for _ in (all ? 0 : layers)...layers {
            _ = try bits.unsigned("layer ordering", limit: Int(UInt32.max))
            reordered = try bits.unsigned("layer ordering", limit: Int(UInt32.max))
            _ = try bits.unsigned("layer ordering", limit: Int(UInt32.max))
        }
        reorderedPictures = reordered
        let smallest = 3 + (try bits.unsigned("coding block size", limit: 3))
        let size = 1 << (smallest + (try bits.unsigned("coding block size", limit: 3)))
        blockCount = ((width + size - 1) / size) * ((height + size - 1) / size)
        for _ in 0..<4 { _ = try bits.unsigned("transform block", limit: 32) }
        if try bits.flag("scaling list"), try bits.flag("scaling list") { try Self.skipScaling(&bits) }
        _ = try bits.flag("asymmetric partitions")
        hasSampleOffset = try bits.flag("sample offset")
        if try bits.flag("PCM") {
            _ = try bits.bits(8, "PCM depth")
            _ = try bits.unsigned("PCM block", limit: 32)
            _ = try bits.unsigned("PCM block", limit: 32)
            _ = try bits.flag("PCM filter")
        }
        var sets: [HEVCReferenceSet] = []
        for _ in 0..<(try bits.unsigned("reference sets", limit: 64)) {
            sets.append(try HEVCReferenceSet(&bits, after: sets, isInSlice: false))
        }
        referenceSets = sets
        hasLongTerm = try bits.flag("long-term pictures")
        var used: [Bool] = []
        if hasLongTerm {
            for _ in 0..<(try bits.unsigned("long-term pictures", limit: 32)) {
                _ = try bits.bits(orderBits, "picture order")
                used.append(try bits.flag("long-term picture"))
            }
        }
        longTermUsed = used
        hasTemporalPrediction = try bits.flag("temporal prediction")
    }

    /// §7.3.4.
    static func skipScaling(_ bits: inout ParameterBits) throws(Malformed) {
        for size in 0..<4 {
            for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                guard try bits.flag("scaling list") else {
                    _ = try bits.unsigned("scaling list", limit: 6)
                    continue
                }
                if size > 1 { _ = try bits.signed("scaling list") }
                for _ in 0..<min(64, 16 << (2 * size)) { _ = try bits.signed("scaling list") }
            }
        }
    }
}

/// The fields of an H.265 picture parameter set that slice headers depend on (§7.3.2.3).
struct HEVCPictureSyntax: Sendable {
    let id: Int
    let sequence: Int
    let allowsDependentSlices: Bool
    let hasOutputFlag: Bool
    let extraBits: Int
    let hasCABACFlag: Bool
    let references: [Int]
    let hasChromaOffsets: Bool
    let weightsPredicted: Bool
    let weightsBipredicted: Bool
    let hasEntryPoints: Bool
    let filtersAcrossSlices: Bool
    var overridesDeblocking = false
    var disablesDeblocking = false
    let changesLists: Bool
    let hasHeaderExtension: Bool
    var hasChromaOffsetList = false

    /// Reads the set after the NAL unit header.
    init(_ bits: inout ParameterBits) throws(Malformed) {
        id = try bits.unsigned("picture parameter set id", limit: 63)
        sequence = try bits.unsigned("sequence parameter set id", limit: 15)
        allowsDependentSlices = try bits.flag("dependent slices")
        hasOutputFlag = try bits.flag("output flag")
        extraBits = Int(try bits.bits(3, "extra bits"))
        _ = try bits.flag("sign hiding")
        hasCABACFlag = try bits.flag("CABAC flag")
        references = [
            1 + (try bits.unsigned("reference count", limit: 14)), 1 + (try bits.unsigned("reference count", limit: 14)),
        ]
        _ = try bits.signed("quantizer")
        _ = try bits.flag("constrained intra prediction")
        let hasTransformSkip = try bits.flag("transform skip")
        if try bits.flag("quantizer delta") { _ = try bits.unsigned("quantizer depth", limit: 3) }
        for _ in 0..<2 { _ = try bits.signed("chroma quantizer") }
        hasChromaOffsets = try bits.flag("chroma offsets")
        weightsPredicted = try bits.flag("weighted prediction")
        weightsBipredicted = try bits.flag("weighted biprediction")
        _ = try bits.flag("lossless blocks")
        let hasTiles = try bits.flag("tiles")
        let isSynchronized = try bits.flag("entropy synchronization")
        hasEntryPoints = hasTiles || isSynchronized
        if hasTiles {
            let columns = try bits.unsigned("tile columns", limit: 19)
            let rows = try bits.unsigned("tile rows", limit: 21)
            if !(try bits.flag("uniform tiles")) {
                for _ in 0..<columns + rows { _ = try bits.unsigned("tile size", limit: 65_535) }
            }
            _ = try bits.flag("filter across tiles")
        }
        filtersAcrossSlices = try bits.flag("filter across slices")
        if try bits.flag("deblocking control") {
            overridesDeblocking = try bits.flag("deblocking override")
            disablesDeblocking = try bits.flag("deblocking")
            if !disablesDeblocking { for _ in 0..<2 { _ = try bits.signed("deblocking offset") } }
        }
        if try bits.flag("scaling list") { try HEVCSequenceSyntax.skipScaling(&bits) }
        changesLists = try bits.flag("reference lists")
        _ = try bits.unsigned("merge level", limit: 6)
        hasHeaderExtension = try bits.flag("header extension")
        guard try bits.flag("extension") else { return }
        let hasRange = try bits.flag("range extension")
        let others = try bits.bits(7, "extensions")
        guard others >> 3 & 0xf == 0 || others & 0x70 == 0 else {
            throw Malformed("pictures of a multilayer, 3D or screen content extension cannot be encrypted", at: bits.position / 8)
        }
        guard hasRange else { return }
        if hasTransformSkip { _ = try bits.unsigned("transform skip size", limit: 3) }
        _ = try bits.flag("cross-component prediction")
        hasChromaOffsetList = try bits.flag("chroma offset list")
    }
}
