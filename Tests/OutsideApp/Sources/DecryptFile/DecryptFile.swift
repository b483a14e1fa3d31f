// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia

/// Writes a clear copy of a protected film, with the key from standard input, in hexadecimal digits.
@main
struct DecryptFile {
    static func main() async throws {
        var keys = GivenKeys()
        keys.add(readLine().flatMap { Hex.decode($0) } ?? [], for: nil)
        do {
            let decryption = try await MediaDecryption(path: CommandLine.arguments[1], keys: keys)
            let written = try await decryption.write(toFile: CommandLine.arguments[2])
            print(written.length, "bytes")
        } catch let error as MediaError {
            print(error.message)
        }
    }
}
