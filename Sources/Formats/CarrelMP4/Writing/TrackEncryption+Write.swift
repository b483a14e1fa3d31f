// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

extension TrackEncryption {
    /// - Parameters:
    ///   - keyID: the key ID.
    ///   - ivSize: size of each sample's initialization vector in bytes: 8 or 16; 0 if all samples use `constantIV`.
    ///   - constantIV: the vector of all samples; nil if each has its own.
    ///   - pattern: which blocks of a protected range are encrypted.
    package init(keyID: KeyID, ivSize: Int, constantIV: AESBlock? = nil, pattern: BlockPattern = .whole) {
        precondition([0, 8, 16].contains(ivSize) && (ivSize == 0) == (constantIV != nil), "a vector is given once")
        isProtected = true
        self.ivSize = ivSize
        self.keyID = keyID
        self.constantIV = constantIV
        self.pattern = pattern
    }

    /// Writes a `tenc` box (ISO/IEC 23001-7 §8.2), in version 1 if there is a pattern.
    ///
    /// - Parameters:
    ///   - writer: gets the box.
    ///   - scheme: the four characters of the scheme; `cbcs` and `cens` have a pattern even when it is every block.
    package func write(to writer: inout BoxWriter, scheme: FourCC) {
        let hasPattern = scheme == "cbcs" || scheme == "cens"
        writer.fullBox("tenc", version: hasPattern ? 1 : 0) { writer in
            writer.u8(0)
            writer.u8(patternByte)
            writeParameters(to: &writer)
        }
    }

    /// Writes the length, the count and the single entry of a `seig` description (§6).
    func writeGroupDescription(to writer: inout BoxWriter) {
        var entry = BoxWriter()
        entry.u8(0)
        entry.u8(patternByte)
        writeParameters(to: &entry)
        writer.u32(UInt32(clamping: entry.bytes.count))
        writer.u32(1)
        writer.append(entry.bytes)
    }

    private var patternByte: UInt8 { UInt8(pattern.crypt & 15) << 4 | UInt8(pattern.skip & 15) }

    private func writeParameters(to writer: inout BoxWriter) {
        writer.u8(isProtected ? 1 : 0)
        writer.u8(UInt8(ivSize))
        writer.append(keyID.bytes)
        guard isProtected, ivSize == 0, let constantIV else { return }
        writer.u8(16)
        writer.append(constantIV.bytes)
    }
}

extension SampleEncryption {
    /// A protected sample.
    ///
    /// - Parameters:
    ///   - encryption: the parameters of its track or group.
    ///   - iv: its vector.
    package init(_ encryption: TrackEncryption, iv: AESBlock) {
        self.init()
        isProtected = true
        keyID = encryption.keyID
        pattern = encryption.pattern
        self.iv = iv
    }

    /// Makes this the value of the next sample: another vector, and no parts yet.
    package mutating func restart(iv: AESBlock) {
        self.iv = iv
        subsamples.removeAll(keepingCapacity: true)
    }

    /// Appends a subsample. Neighbors are merged if the result is equivalent.
    ///
    /// - Parameters:
    ///   - clear: number of clear bytes.
    ///   - protected: number of protected bytes after them.
    package mutating func append(clear: Int, protected: Int) {
        var clear = clear
        if let last = subsamples.last, last.protected == 0 {
            clear += last.clear
            subsamples.removeLast()
        }
        // a subsample has a 16-bit count of clear bytes (ISO/IEC 23001-7 §7.2)
        while clear > 0xffff {
            subsamples.append(Subsample(clear: 0xffff, protected: 0))
            clear -= 0xffff
        }
        subsamples.append(Subsample(clear: clear, protected: protected))
    }
}
