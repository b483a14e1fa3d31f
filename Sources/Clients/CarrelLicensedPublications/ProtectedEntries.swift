// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelPublication

/// The entries of a container that its `META-INF/encryption.xml` lists (EPUB 3.3 §4.2.6.3.2), and that are DCF files.
struct ProtectedEntries: Sendable {
    /// All listed entries, except what another technology encrypts.
    let paths: Set<ResourcePath>
    /// The first of them whose headers were read: different contents, at least one.
    let probed: [ProtectedFile]

    /// Entries that are looked at, without a DCF among them and in all, and contents whose licenses are looked for.
    private static let foreignLimit = 8
    private static let entryLimit = 64
    private static let contentLimit = 16

    /// Reads which entries are protected; nil if none is a DCF.
    ///
    /// - Parameter fetcher: the container.
    /// - Throws: the errors of reading; `Malformed` if all looked at are damaged.
    init?(_ fetcher: any Fetcher) async throws {
        let all = try await fetcher.paths()
        guard all.contains("META-INF/encryption.xml"), !LicenseLocation(in: all).isTaken else { return nil }
        guard let encrypted = try? await fetcher.encryptedResources() else { return nil }
        let listed = encrypted.filter { $0.value.scheme != Encryption.lcpScheme && !$0.value.isFontObfuscation }
        guard !listed.isEmpty else { return nil }
        var files: [ProtectedFile] = []
        var damage: Malformed?
        var names: Set<String> = []
        for (number, path) in listed.keys.sorted(by: { $0.string < $1.string }).prefix(Self.entryLimit).enumerated() {
            guard !files.isEmpty || number < Self.foreignLimit else { break }
            let resource = fetcher.get(Link(path))
            guard !(resource is FailingResource) else { continue }
            do {
                guard let file = try await ProtectedFile(resource) else { continue }
                if names.insert(file.object.headers.contentID).inserted { files.append(file) }
            } catch let error as Malformed {
                // the entry fails when it is read
                damage = error
            }
            if files.count == Self.contentLimit { break }
        }
        if files.isEmpty, let damage { throw damage }
        guard !files.isEmpty else { return nil }
        paths = Set(listed.keys)
        probed = files
    }
}
