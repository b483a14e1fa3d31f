// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelReader
import CarrelSubscription
import CarrelUpstream

/// Signs in at a server, with the password from standard input, and prints the products that the account may read.
@main
struct ListShelf {
    static func main() async throws {
        let (server, name, file) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
        let calls = try SubscriptionCalls(SubscriptionEndpoints(base: server), client: HTTPClient())
        let client = try SubscriptionClient(name: "publisher", calls: calls, store: FileSubscriptionStore(path: file))
        do throws(ReaderError) {
            _ = try await client.signIn(name: name, password: readLine() ?? "")
            guard let state = await client.state else { return }
            for product in state.answer.issues ?? ["everything"] { print(product) }
        } catch {
            print(error.providerMessage ?? error.message)
        }
    }
}
