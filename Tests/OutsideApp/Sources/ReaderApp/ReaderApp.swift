// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelReader
import CarrelSubscription
import CarrelUpstream

/// An app's use of a subscription, without requests to a server.
@main
struct ReaderApp {
    static func main() async throws {
        let calls = try SubscriptionCalls(SubscriptionEndpoints(base: "http://127.0.0.1:1/"), client: HTTPClient())
        let store = FileSubscriptionStore(path: CommandLine.arguments[1] + "/subscription")
        let client = try SubscriptionClient(name: "Books", calls: calls, store: store, device: nil)
        do throws(ReaderError) {
            _ = try await client.signIn(name: "alice", password: "sesame")
        } catch {
            print(error.code, error.upstream?.code.identifier ?? "")
        }
        let headers: HTTPFields = ["Accept": "text/html"]
        print(headers["accept"] ?? "", await client.isSignedIn)
    }
}
