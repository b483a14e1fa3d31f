// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// The checks of `scripts/lint` on the folders of `Sources` (`scripts/house.py`).
struct `The folders of Sources` {
    private static let manifest = """
        let groundTargets: [Target] = [
            library("Ground/CarrelInk"),
            library("Ground/CarrelPaper"),
        ]
        let clientsTargets: [Target] = [
            library("Clients/CarrelShop"),
        ]

        """

    private func house(_ files: [String: String]) async throws -> ProcessResult {
        let directory = TemporaryDirectory()
        var files = files
        for name in ["Ground/CarrelInk/Ink", "Ground/CarrelPaper/Paper", "Clients/CarrelShop/Shop"] {
            files["Sources/\(name).swift"] = files["Sources/\(name).swift"] ?? "struct \(name.split(separator: "/")[2]) {}\n"
        }
        files["Package.swift"] = Self.manifest
        for name in files.keys.sorted() {
            let folder = name.split(separator: "/").dropLast().joined(separator: "/")
            if !folder.isEmpty { try await checkProcess(["mkdir", "-p", directory.file(folder)]) }
        }
        try await checkProcess(["mkdir", "-p", directory.file("Tests")])
        for (name, text) in files { directory.write(name, text) }
        return try await runProcess([try requirePeer("python3"), "\(repository)/scripts/house.py"], directory: directory.path)
    }

    @Test func `are printed with their targets, lines and imports`() async throws {
        let result = try await house(["Sources/Clients/CarrelShop/Shop.swift": "import CarrelInk\n\nstruct Shop {}\n"])
        #expect(result.status.isSuccess, "\(result.text)")
        #expect(
            result.text == """
                Ground         2 targets       2 lines    0 imports
                Clients        1 targets       3 lines    1 imports

                """
        )
    }

    @Test(arguments: [
        ("Ground/CarrelInk/Ink", "import CarrelShop\n", "imports CarrelShop, which Package.swift lists after CarrelInk"),
        (
            "Ground/CarrelInk/Ink", "package import CarrelPaper\n",
            "imports CarrelPaper, which Package.swift lists after CarrelInk"
        ),
        ("Ground/CarrelInk/Ink", "@preconcurrency import CarrelShop\n", "imports CarrelShop"),
    ])
    func `import only what is listed before`(file: String, text: String, message: String) async throws {
        let result = try await house(["Sources/\(file).swift": text])
        #expect(result.status == .exited(1))
        #expect(result.text.hasPrefix("Sources/\(file).swift: \(message)"), "\(result.text)")
    }

    @Test func `have no large targets, circles of files or pairs of folders, except those on the list`() async throws {
        let circle = [
            "Sources/Clients/CarrelShop/A/One.swift": "struct One { let two: Two }\n",
            "Sources/Clients/CarrelShop/B/Two.swift": "struct Two { let three: Three }\n",
            // a type named in a comment or a text is not used
            "Sources/Clients/CarrelShop/B/Three.swift": "// Two\nstruct Three { let one: One; let name = \"Two\" }\n",
            "Sources/Clients/CarrelShop/B/Other.swift": "struct Other { let three: Three }\n",
            "Sources/Clients/CarrelShop/Long.swift": String(repeating: "// a line\n", count: 6_001),
        ]
        let result = try await house(circle)
        #expect(result.status == .exited(1))
        for line in [
            "Sources/Clients/CarrelShop: 6007 lines; 6000 at most",
            "Sources/Clients/CarrelShop: a circle of A/One.swift, B/Three.swift, B/Two.swift",
            "Sources/Clients/CarrelShop: 3 files in circles of more than two; 0 at most",
            "Sources/Clients/CarrelShop: A and B name types of each other",
            "Sources/Clients/CarrelShop: 1 pairs of folders that depend on each other; 0 at most",
        ] {
            #expect(result.text.contains("\(line)\n"), "\(line) is not in \(result.text)")
        }
        let list =
            "# for the test\nlines CarrelShop 7000\n# for the test\ncircles CarrelShop 3\n# for the test\npairs CarrelShop 1\n"
        let allowed = try await house(circle.merging(["Tests/house.txt": list]) { $1 })
        #expect(allowed.status.isSuccess, "\(allowed.text)")
    }

    @Test(arguments: [
        ("circles CarrelShop 3\n", "an exception without a reason above it"),
        ("# for the test\ncircles CarrelShop 3\n", "circles CarrelShop is no exception any more: remove the line"),
        ("# for the test\npairs CarrelGarden 3\n", "pairs CarrelGarden: there is no such target"),
    ])
    func `have a list of exceptions that only gets shorter`(list: String, message: String) async throws {
        let result = try await house(["Tests/house.txt": list])
        #expect(result.status == .exited(1) && result.text.contains(message), "\(result.text)")
    }
}
