// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelWebAPI
import CarrelXML

/// The manifest that an app reads before it downloads an edition: the files to download, and the one to open.
package struct PackageManifest {
    package static let mediaType = "application/pugpigpkg+xml"

    private let edition: Edition
    private let base: String

    /// - Parameters:
    ///   - edition: the edition.
    ///   - base: its address, with a slash at the end.
    init(_ edition: Edition, base: String) {
        self.edition = edition
        self.base = base
    }

    func write() -> [UInt8] {
        let isPages = edition.title.kind == .edition
        var writer = XMLWriter()
        writer.start("package", ["root": isPages ? "content.xml" : edition.entry, "size": String(edition.byteCount)])
        writer.element(
            "part",
            [
                "name": isPages ? "html" : edition.title.kind.rawValue,
                "src": base + (isPages ? "-/package.zip" : edition.entry.asAddress),
                "size": String(edition.byteCount), "modified": edition.contentAt.description,
            ]
        )
        return writer.finish()
    }
}
