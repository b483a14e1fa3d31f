// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelProxy

/// Serves a film with Common Encryption to a player on this machine. The first line of standard input is the key, in hexadecimal digits; the
/// second ends the program.
@main
struct PlayFilm {
    static func main() async throws {
        var keys = GivenKeys()
        keys.add(readLine().flatMap { Hex.decode($0) } ?? [], for: nil)
        let proxy = try PlaylistProxy(expectedMajor: 1) { error in print(error.message, error.recommendation) }
        try proxy.start()
        let session = try proxy.makeURL(CommandLine.arguments[1], .singleFile, keys: keys)
        print("open", session.url, "in a player")
        _ = readLine()
        session.end()
        await proxy.stop()
    }
}
