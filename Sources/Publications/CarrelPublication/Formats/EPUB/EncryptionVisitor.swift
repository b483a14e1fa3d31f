// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// Reads a document of a hundred thousand elements, of which only encrypted resources are kept.
final class EncryptionVisitor: XMLVisitor {
    var document = EncryptionDocument()

    private var depth = 0
    /// The depth of the `EncryptedData` that is open; 0 when none is.
    private var dataDepth = 0
    /// The number of the last `EncryptedData`, from 1.
    private var number = 0
    private var entry = EncryptionDocument.Entry(number: 0)
    private var isADEPT = false
    /// The cipher of the previous entry, which is usually the same for all.
    private var algorithm = Encryption.aes256CBC

    private static let keyType = "http://readium.org/2014/01/lcp#EncryptedContentKey"
    private static let keyAddress = "license.lcpl#/encryption/content_key"

    func start(_ tag: borrowing XMLTag) {
        depth += 1
        if !isADEPT, tag.isIn(EncryptionDocument.adeptNamespace) {
            isADEPT = true
            document.isADEPT = true
        }
        guard dataDepth > 0 else {
            if tag.isNamed("EncryptedData") {
                dataDepth = depth
                number += 1
                entry = EncryptionDocument.Entry(number: number)
            }
            return
        }
        switch depth - dataDepth {
        case 1 where tag.isNamed("EncryptionMethod"):
            if !tag.has("Algorithm", algorithm) {
                guard let other = tag.value("Algorithm") else { return entry.algorithm = nil }
                algorithm = other
            }
            entry.algorithm = algorithm
        case 2 where tag.isNamed("RetrievalMethod"):
            if tag.has("Type", Self.keyType) || tag.has("URI", Self.keyAddress) { entry.isLCP = true }
        case 2 where tag.isNamed("CipherReference"): entry.uri = tag.value("URI")
        case 3 where tag.isNamed("Compression"):
            if tag.has("Method", "8") { entry.isDeflated = true }
            entry.length = tag.value("OriginalLength").flatMap { Int64($0) }.flatMap { $0 >= 0 ? LengthHint($0) : nil }
        default: break
        }
    }

    func end() {
        if depth == dataDepth {
            dataDepth = 0
            document.add(entry)
        }
        depth -= 1
    }
}
