// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

struct `scripts/lint` {
    private func lint(_ files: [String: String], limit: Int = 1, isBare: Bool = false) async throws -> ProcessResult {
        let directory = TemporaryDirectory()
        let folders = Set(files.keys.map { $0.split(separator: "/").dropLast().joined(separator: "/") } + ["Tests"])
        for folder in folders where !folder.isEmpty { try await checkProcess(["mkdir", "-p", directory.file(folder)]) }
        let license = "// SPDX-License-Identifier: Apache-2.0\n\n"
        for (name, text) in files { directory.write(name, name.hasSuffix(".swift") && !isBare ? license + text : text) }
        directory.write("Tests/limits.txt", "# numbers\nunchecked-sendable \(limit)\n")
        try await checkProcess(["git", "init", "-q"], directory: directory.path)
        return try await runProcess(["\(repository)/scripts/lint", directory.path])
    }

    @Test func `tells a file that is too long`() async throws {
        let lines = String(repeating: "// a\n", count: 499)
        let result = try await lint([
            "Sources/G/A/B.swift": lines, "README.md": lines, "Sources/G/A/C.swift": String(lines.dropLast(5)),
        ])
        #expect(result.status == .exited(1))
        #expect(
            result.text
                == "Sources/G/A/B.swift: 501 lines; 500 at most\nREADME.md: more than 120 lines; it is a door, not a manual\n"
        )
    }

    @Test func `counts what a product leaves undocumented`() async throws {
        let text = """
            /// A protocol.
            public protocol Named {
                /// Its name.
                var name: String { get }
            }

            /// A book.
            public struct Book: Named {
                public let name: String
                public let pages: Int

                /// A kind.
                public enum Kind {
                    case novel
                }
            }

            """
        let package = "    products: [\n        .library(name: \"CarrelBook\", targets: [\"CarrelBook\"])\n    ],\n"
        let result = try await lint(["Package.swift": package, "Sources/G/CarrelBook/Book.swift": text])
        #expect(result.status == .exited(1))
        #expect(
            result.text.hasPrefix("CarrelBook: 5 of 7 public declarations documented"),
            "\(result.text)"
        )
    }

    @Test(arguments: [
        ("/// Opens a book.\n///\n/// - Parameter path: a file.\npublic func open(_ path: String) {}", nil),
        ("/// Opens a book.\npublic func open(_ book: Book, with tag: EntityTag) {}", nil),
        ("/// Creates a book; each parameter is the property of its name.\npublic init(pages: Int, title: String) {}", nil),
        ("/// Compares books.\npublic static func == (left: Book, right: Book) -> Bool {}", nil),
        ("/// Opens a book.\npublic func open(_ path: String) {}", "- Parameter path"),
        ("/// - Parameter path: a file.\npublic init(\n    path: String\n) {}", "a summary line"),
        ("/// - Returns: pages.\npublic var pages: Int { 1 }", "a summary line"),
        ("/// Opens a book.\n///\n/// - Parameter a: one.\npublic func open(_ a: Int, book: Book) {}", "- Parameter book"),
        ("/// Opens a book.\npublic func open() async throws(Malformed) {}", "- Throws"),
        ("/// Opens a book.\npublic func open(_ body: () throws -> Void) {}", "- Parameter body"),
        ("/// A shelf.\npublic protocol Shelf {\n    /// Opens it.\n    func open() throws\n}", "- Throws"),
    ])
    func `requires a summary, parameters and errors of a product's documentation`(text: String, part: String?) async throws {
        let package = "    products: [\n        .library(name: \"CarrelBook\", targets: [\"CarrelBook\"])\n    ],\n"
        let result = try await lint(["Package.swift": package, "Sources/G/CarrelBook/Book.swift": "\(text)\n"])
        #expect(result.status == .exited(part == nil ? 0 : 1), "\(result.text)")
        if let part { #expect(result.text.hasSuffix(": lacks \(part)\n"), "\(result.text)") }
    }

    @Test func `finds nothing in a clean tree`() async throws {
        let result = try await lint([
            "Sources/G/A/Book.swift": "import FoundationEssentials\n\nstruct Book {}\n",
            "Sources/G/A/Fast.swift": "public struct Fast {\n    @inlinable\n    public init() {}\n}\n",
            "Sources/G/A/Lock.swift": "final class Lock: @unchecked Sendable {}  // a mutex guards it\n",
            "README.md": "# A\n",
        ])
        #expect(result.status.isSuccess, "\(result.text)\(result.errorText)")
        #expect(result.text == "public declarations: A 2\nlint: clean\n")
    }

    @Test func `refuses a file without the license`() async throws {
        let result = try await lint(["Sources/G/A/Book.swift": "struct Book {}\n"], isBare: true)
        #expect(result.status == .exited(1))
        #expect(result.text.hasPrefix("Sources/G/A/Book.swift: has no line // SPDX-License-Identifier"), "\(result.text)")
    }

    // what must be found is put together here, so that this file holds none of it
    @Test(arguments: [
        ("Sources/G/A/B.swift", "import Foundation\n", "Sources/G/A/B.swift:3:import Foundation: imports Foundation"),
        ("Sources/G/A/B.swift", "public import FoundationXML\n", "imports Foundation"),
        ("Sources/G/A/B.swift", "@preconcurrency import struct Foundation.Data\n", "imports Foundation"),
        ("Sources/G/A/StringUtils.swift", "", "Sources/G/A/StringUtils.swift: a drawer"),
        ("Sources/Helpers/B.swift", "", "a drawer"),
        ("Sources/G/A/B.swift", "// TO" + "DO: later\n", "unfinished"),
        ("Tests/A/B.swift", "let path = \"/ho" + "me/ada/books\"\n", "names a place on one machine"),
        ("docs/a.md", "see /wo" + "rk/main\n", "names a place on one machine"),
        ("Sources/G/A/B.swift", "let a = 1 \n", "spaces at the end of the line"),
        ("scripts/a", "#!/usr/bin/env bash\nif\n", "syntax error"),
        ("docs/a.md", "a link for who" + "ever asks\n", "docs/a.md:1:a link for who" + "ever asks: write: name the role"),
        ("Sources/carrel/A.swift", "/// Wh" + "at a title is.\nlet a = 1\n", "write: open with a noun phrase"),
        ("Sources/G/A/B.swift", "final class B: @unchecked Sendable {}\n", "an unchecked promise without a proof"),
        (
            "Sources/G/A/B.swift", "public struct B {}\n",
            "Sources/G/A/B.swift:3: public struct B {}: public, but its target belongs to no product"
        ),
        (
            "Sources/G/A/B.swift", "// proofs\nA: @unchecked Sendable // 1\nB: @unchecked Sendable // 2\n",
            "2 unchecked promises of sendability"
        ),
    ])
    func `tells a breach`(file: String, text: String, message: String) async throws {
        let result = try await lint([file: text])
        #expect(result.status == .exited(1))
        #expect((result.text + result.errorText).contains(message), "\(result.text)\(result.errorText)")
    }
}
