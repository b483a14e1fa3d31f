// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelProxy

/// Makes an address for a file that is not a medium.
@main
struct ProxyApp {
    static func main() async throws {
        let proxy = try PlaylistProxy(expectedMajor: 1) { error in print(error.code) }
        try proxy.start()
        let session = try proxy.makeURL(CommandLine.arguments[1] + "/mimetype", .singleFile, keys: GivenKeys())
        print(session.url.hasPrefix("http://127.0.0.1:"))
        session.end()
        await proxy.stop()
    }
}
