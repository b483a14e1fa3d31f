// SPDX-License-Identifier: Apache-2.0

extension TransformingFetcher {
    /// Decrypts the resources that a container declares encrypted by Readium LCP, and leaves the others alone.
    ///
    /// - Parameters:
    ///   - key: the publication's key.
    ///   - properties: the encryption of each resource, from ``Fetcher/encryptedResources(warnings:)``.
    /// - Returns: a transformer for `TransformingFetcher.init`. A resource with an unknown cipher fails with
    ///   `resource.decryption`.
    public static func decrypting(with key: ContentKey, properties: [ResourcePath: Encryption]) -> Transformer {
        { resource in
            let link = resource.link
            guard let encryption = link.path.flatMap({ properties[$0] }) ?? link.properties.encryption, encryption.isLCP else {
                return resource
            }
            guard encryption.algorithm == Encryption.aes256CBC else {
                return FailingResource(
                    link,
                    ResourceError(.decryption, "\"\(link.href)\" is encrypted with a cipher that is not supported")
                )
            }
            return AESCBCResource(
                resource,
                key: key,
                isDeflated: encryption.isDeflated,
                originalLength: encryption.originalLength
            )
        }
    }
}
