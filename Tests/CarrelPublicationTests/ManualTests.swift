import CarrelTesting
import Testing

@Suite("The manual of publications")
struct ManualTests {
    @Test func `shows the protection that the tests run`() throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let code = try text("\(root)/Tests/CarrelPublicationTests/Examples/SignInProtection.swift")
        let manual = try text("\(root)/docs/publications.md")
        #expect(manual.contains("```swift\n\(code)```\n"))
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try #require(Fixtures.bytes(at: path)), as: UTF8.self)
    }
}
