// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

struct `The package` {
    private func resolve(_ product: String) async throws -> ProcessResult {
        let app = TemporaryDirectory()
        app.write(
            "Package.swift",
            """
            // swift-tools-version: 6.0
            import PackageDescription
            let package = Package(
                name: "app",
                dependencies: [.package(name: "carrel", path: "\(repository)")],
                targets: [
                    .executableTarget(name: "App", dependencies: [.product(name: "\(product)", package: "carrel")], path: ".")
                ]
            )
            """
        )
        app.write("main.swift", "")
        defer { withExtendedLifetime(app) {} }
        return try await runProcess(["swift", "package", "--package-path", app.path, "show-dependencies"])
    }

    /// Modules in public signatures are imported publicly (SE-0409).
    @Test func `lists in each product the modules that its public signatures name`() async throws {
        let dumped = try await checkProcess(["swift", "package", "--package-path", repository, "dump-package"])
        let products = try JSON.parse(Array(dumped.utf8).rawSpan)["products"]?.array ?? []
        let libraries = products.filter { $0["type"]?["library"] != nil }
        #expect(libraries.count == 17)
        for product in libraries {
            let targets = Set((product["targets"]?.array ?? []).compactMap(\.string))
            #expect(!targets.isEmpty)
            for target in targets.sorted() {
                let pattern = "^(@[A-Za-z_]+ )?public import [A-Za-z]+"
                // ends with 1 where nothing is found
                let found = try await runProcess(["grep", "-rhoE", pattern, Repository.folder(of: target)]).text
                let named = Set(found.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) })
                let missing = named.subtracting(targets).subtracting(["Glibc", "FoundationEssentials"])
                #expect(missing == [], "\(target) of \(product["name"]?.string ?? "")")
            }
        }
    }

    @Test func `gives other packages CarrelReader, and no target that is not declared`() async throws {
        let reader = try await resolve("CarrelReader")
        #expect(reader.status == .exited(0), "\(reader.errorText)")
        let server = try await resolve("CarrelServer")
        #expect(server.errorText.contains("product 'CarrelServer'"))
        #expect(server.errorText.contains("target 'App' not found in package 'carrel'"))
    }
}
