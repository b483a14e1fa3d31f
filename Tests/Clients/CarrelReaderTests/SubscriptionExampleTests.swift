// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelReader
import CarrelSubscription
import CarrelTesting
import Testing

@Suite("The code of the reader's documentation")
struct SubscriptionExampleTests {
    private let directory = TemporaryDirectory()

    @Test func `signs in, asks what may be read and gets credentials`() async throws {
        let provider = try ScriptedProvider { call, query in
            func xml(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
            return switch call {
            case "sign_in":
                query["password"] == "right"
                    ? (200, xml(SignInAnswer.token("T", globalAuthPassword: nil).write()))
                    : (200, xml(SignInAnswer.refused(status: "no", message: "Try again.").write()))
            case "verify_subscription": (200, xml(SubscriptionAnswer(.active, issues: ["a"]).write()))
            case "edition_credentials": (200, xml(CredentialsAnswer.granted(userID: "U", password: "P").write()))
            default: (404, "")
            }
        }
        let client = try subscription(at: provider.base, file: directory.file("subscription"), installation: "I")
        #expect(try await signIn("ada", "wrong", client) == "Try again.")
        #expect(try await signIn("ada", "right", client) == nil)
        #expect(try await readable(["a", "b"], client) == ["a"])
        let request = try await downloadRequest("a", url: "https://books.example/a.epub", client)
        #expect(request.headers["Authorization"] == "Basic VTpQ")
        #expect(try await credentials(for: "a", from: [client]).product == "a")
        await provider.stop()
        #expect(try await readable(["a", "b"], client) == ["a"])
    }
}
