import CarrelArchive

extension EditionFolder {
    /// Bytes of a page or a style sheet that are looked through.
    private static let textLimit: Int64 = 4 << 20

    /// Whether an entry that was left out is a page, or has a name that stands in a page, a style sheet or a script.
    func isPart(_ entry: OmittedArchiveEntry) throws -> Bool {
        guard let name = entry.parts.last, !ResourceName.isLitter(entry.parts.joined(separator: "/")) else { return false }
        if ResourceType.isPage(name) { return true }
        let words = [name, name.replacing(" ", with: "%20")]
        return try files.contains { file in
            let isText = ResourceType.isPage(file.path) || file.path.hasSuffix(".css") || file.path.hasSuffix(".js")
            guard isText else { return false }
            let text = String(
                decoding: try SourceFile(path: file.location, name: file.path).bytes(0..<Self.textLimit),
                as: UTF8.self
            )
            return words.contains { text.contains($0) }
        }
    }
}
