import CarrelXML

/// `META-INF/encryption.xml` (EPUB 3.3 §4.2.6.3.2): which resources are encrypted, and how.
struct EncryptionDocument {
    let resources: [ResourcePath: Encryption]

    static let path = ResourcePath(decoded: "META-INF/encryption.xml")!

    init(_ root: XMLElement, _ warnings: Warnings) {
        var found: [ResourcePath: Encryption] = [:]
        for data in root.all("EncryptedData") {
            guard let algorithm = data.child("EncryptionMethod")?["Algorithm"],
                let uri = data.child("CipherData")?.child("CipherReference")?["URI"], let path = ResourcePath(href: uri)
            else {
                warnings.add(.moderate, "an entry of encryption.xml that does not say what is encrypted how is left out")
                continue
            }
            var encryption = Encryption(algorithm: algorithm)
            let retrieval = data.child("KeyInfo")?.child("RetrievalMethod")
            if retrieval?["Type"] == "http://readium.org/2014/01/lcp#EncryptedContentKey" {
                encryption.scheme = "http://readium.org/2014/01/lcp"
            }
            let properties = data.child("EncryptionProperties")?.all("EncryptionProperty") ?? []
            if let compression = properties.lazy.compactMap({ $0.child("Compression") }).first {
                if compression["Method"] == "8" { encryption.compression = "deflate" }
                encryption.originalLength = compression["OriginalLength"].flatMap { Int64($0) }.flatMap {
                    $0 >= 0 ? LengthHint($0) : nil
                }
            }
            found[path] = encryption
        }
        resources = found
    }
}
