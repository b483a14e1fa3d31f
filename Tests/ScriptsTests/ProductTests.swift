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

    @Test func `gives other packages CarrelReader, and no target that is not declared`() async throws {
        let reader = try await resolve("CarrelReader")
        #expect(reader.status == .exited(0), "\(reader.errorText)")
        let server = try await resolve("CarrelServer")
        #expect(server.errorText.contains("product 'CarrelServer'"))
        #expect(server.errorText.contains("target 'App' not found in package 'carrel'"))
    }
}
