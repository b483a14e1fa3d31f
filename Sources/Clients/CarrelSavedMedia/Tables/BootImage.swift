// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// `boot.xml`: the streams and the data items of a package, in the elements of `movpkg` packages.
package struct BootImage: Sendable, Equatable {
    /// A folder with the pieces of a stream.
    package struct Stream: Sendable, Equatable {
        package var id: String
        /// The name of the folder.
        package var path: String
        package var isComplete: Bool
    }

    /// A document of the package.
    package struct Item: Sendable, Equatable {
        /// The name of the file in the data folder.
        package var path: String
        package var role: String?
        /// The resource; nil in packages of other programs.
        var tag: AddressTag?
        /// The range of the resource; nil for all.
        var range: Range<Int64>?
    }

    /// The id of the package; nil in packages of other programs.
    package var id: String?
    /// The seal mode; nil in packages of other programs.
    package var mode: SealMode?
    package var streams: [Stream] = []
    /// The name of the folder with the documents.
    package var dataFolder = "Data"
    package var items: [Item] = []

    /// The namespace of `movpkg` packages, and of what this project adds to it.
    static let namespace = "http://apple.com/IMG/Schemas/HLSMoviePackage"
    static let ownNamespace = "urn:carrel:saved-media:1"
    /// The role of the item with the source and the digests of the tables, and of the item with the addresses of pieces.
    static let indexRole = "Index"
    static let planRole = "Plan"
    static let documentRole = "Document"

    /// Whether all streams are complete.
    package var isComplete: Bool { streams.allSatisfy(\.isComplete) }

    // MARK: - Reading

    /// Reads a boot image.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: `saved.format` with the fault.
    package init(_ bytes: RawSpan) throws(SavedMediaError) {
        let root = try Self.root(bytes, file: "boot.xml")
        guard root.child("HLSMoviePackageType")?.text == "PersistedStore" else {
            throw Self.fault("boot.xml", "its type is not PersistedStore")
        }
        id = Self.own("ID", root)
        if let text = Self.own("Seal", root) {
            guard let known = SealMode(rawValue: text) else { throw Self.fault("boot.xml", "its seal mode is not known") }
            mode = known
        }
        guard id.map({ PlainName.isValid($0) }) ?? true else { throw Self.fault("boot.xml", "its id is not a plain name") }
        for element in root.child("Streams")?.children ?? [] where element.name.local == "Stream" {
            guard let id = element["ID"], let path = element["Path"], PlainName.isValid(path), PlainName.isValid(id),
                let complete = element.child("Complete").flatMap({ TableNumbers.flag($0.text) })
            else { throw Self.fault("boot.xml", "stream \(streams.count) has no plain ID, Path or Complete") }
            guard streams.count < SavedLimits.streams else {
                throw Self.fault("boot.xml", "it has more than \(SavedLimits.streams) streams")
            }
            guard !streams.contains(where: { $0.path == path }) else { throw Self.fault("boot.xml", "a stream's path repeats") }
            streams.append(Stream(id: id, path: path, isComplete: complete))
        }
        guard let data = root.child("DataItems") else { return }
        dataFolder = data["Directory"] ?? "Data"
        guard PlainName.isValid(dataFolder), !streams.contains(where: { $0.path == dataFolder }) else {
            throw Self.fault("boot.xml", "the data folder has no plain name of its own")
        }
        for element in data.children where element.name.local == "DataItem" {
            guard let path = element.child("DataPath")?.text, PlainName.isValid(path) else {
                throw Self.fault("boot.xml", "data item \(items.count) has no plain DataPath")
            }
            // the index and the plan, and the documents
            guard items.count < SavedLimits.documents + 2 else {
                throw Self.fault("boot.xml", "it has more than \(SavedLimits.documents) documents")
            }
            var item = Item(path: path, role: element.child("Role")?.text)
            if let text = Self.own("Address", element) {
                guard let tag = AddressTag(text) else { throw Self.fault("boot.xml", "the address of \(path) is malformed") }
                item.tag = tag
            }
            if let text = Self.own("Range", element) {
                guard let range = TableNumbers.range(text) else {
                    throw Self.fault("boot.xml", "the range of \(path) is malformed")
                }
                item.range = range
            }
            items.append(item)
        }
    }

    /// Reads the name of the boot image in a `root.xml`.
    ///
    /// - Parameter bytes: the file.
    /// - Returns: a plain name.
    /// - Throws: `saved.format` with the fault.
    package static func name(inRoot bytes: RawSpan) throws(SavedMediaError) -> String {
        let root = try root(bytes, file: "root.xml")
        guard let name = root.child("BootImage")?.text, PlainName.isValid(name) else {
            throw fault("root.xml", "it names no boot image")
        }
        return name
    }

    private static func root(_ bytes: RawSpan, file: String) throws(SavedMediaError) -> XMLElement {
        let limits = XMLLimits(bytes: SavedLimits.bootBytes, depth: 8, elements: 80_000, attributes: 16, text: 4096)
        let root: XMLElement
        do throws(Malformed) { root = try XMLElement.parse(bytes, limits: limits) } catch {
            throw fault(file, error.description)
        }
        guard root.name == XMLName("HLSMoviePackage", namespace: namespace), root.child("Version")?.text == "1.0" else {
            throw fault(file, "it is not an HLSMoviePackage of version 1.0")
        }
        return root
    }

    private static func own(_ name: String, _ element: XMLElement) -> String? {
        element.attributes.first { $0.name == XMLName(name, namespace: ownNamespace) }?.value
    }

    static func fault(_ file: String, _ what: String) -> SavedMediaError {
        SavedMediaError(.format, "\(file) cannot be read: \(what)")
    }

    // MARK: - Writing

    /// Creates the boot image of a new package.
    init(id: String, mode: SealMode) {
        self.id = id
        self.mode = mode
    }

    /// The file.
    package func written() -> [UInt8] {
        var xml = XMLWriter()
        xml.start(
            "HLSMoviePackage",
            [
                "xmlns": Self.namespace, "xmlns:carrel": Self.ownNamespace, "carrel:ID": id, "carrel:Seal": mode?.rawValue,
            ]
        )
        xml.newLine()
        xml.element("Version", text: "1.0")
        xml.element("HLSMoviePackageType", text: "PersistedStore")
        xml.newLine()
        xml.start("Streams")
        for stream in streams {
            xml.newLine()
            xml.start("Stream", ["ID": stream.id, "Path": stream.path])
            xml.element("Complete", text: TableNumbers.text(stream.isComplete))
            xml.end()
        }
        xml.end()
        xml.newLine()
        xml.start("DataItems", ["Directory": dataFolder])
        for (number, item) in items.enumerated() {
            xml.newLine()
            xml.start(
                "DataItem",
                ["carrel:Address": item.tag?.hex, "carrel:Range": item.range.map { TableNumbers.text($0) }]
            )
            xml.element("ID", text: "\(number)")
            xml.element("DataPath", text: item.path)
            if let role = item.role { xml.element("Role", text: role) }
            xml.end()
        }
        xml.end()
        xml.newLine()
        return xml.finish()
    }
}
