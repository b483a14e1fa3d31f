// SPDX-License-Identifier: Apache-2.0

import CarrelArchive

extension EditionFolder {
    /// Bytes of a page or a style sheet that are searched.
    private static let textLimit: Int64 = 4 << 20

    /// The first of the entries left out that is a page, or whose name is in a page, a style sheet or a script. Each text is read once.
    func firstPart(of entries: [OmittedArchiveEntry]) throws -> OmittedArchiveEntry? {
        let candidates = entries.filter { !$0.parts.isEmpty && !ResourceName.isLitter($0.parts.joined(separator: "/")) }
        if let page = candidates.first(where: { ResourceType.isPage($0.parts.last ?? "") }) { return page }
        guard !candidates.isEmpty else { return nil }
        for file in files where ResourceType.isPage(file.path) || file.path.hasSuffix(".css") || file.path.hasSuffix(".js") {
            let bytes = try SourceFile(path: file.location, name: file.path).bytes(0..<Self.textLimit)
            let text = String(decoding: bytes, as: UTF8.self)
            let part = candidates.first { entry in
                let name = entry.parts.last ?? ""
                return text.contains(name) || text.contains(name.replacing(" ", with: "%20"))
            }
            if let part { return part }
        }
        return nil
    }
}
