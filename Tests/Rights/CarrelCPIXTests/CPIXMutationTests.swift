// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelTesting
import Testing

/// Altered copies of a good document, the same ones in every run.
struct `An altered document` {
    private static func mutate(_ good: [UInt8], _ count: Int, _ body: ([UInt8]) throws -> Void) rethrows {
        var random = SplitMix(seed: UInt64(good.count))
        for _ in 0..<count {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: bytes[index] = UInt8.random(in: 0x20...0x7e, using: &random)
                case 2: bytes.remove(at: index)
                case 3: bytes.swapAt(index, Int.random(in: 0..<bytes.count, using: &random))
                default:
                    let end = min(bytes.count, index + Int.random(in: 1...12, using: &random))
                    bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
                }
            }
            try body(bytes)
        }
    }

    @Test func `never gives a key that was not in it`() throws {
        let key = try CPIXSamples.privateKey("Cert1")
        let good = try CPIXSamples.full.write(as: .v23, to: [try CPIXSamples.certificate("Cert1")])
        var (read, refused) = (0, 0)
        Self.mutate(good, 1000) { bytes in
            do throws(CPIXError) {
                for opened in try CPIXSamples.read(bytes).decrypted(by: key).keys {
                    guard let secret = opened.secret else { continue }
                    // the code covers the key, not its id
                    #expect(CPIXSamples.secrets.contains(secret))
                }
                read += 1
            } catch {
                refused += 1
            }
        }
        #expect(read + refused == 1000 && refused > 900)
    }

    @Test func `is refused, or the same when it is written and read again`() throws {
        let good = try CPIXSamples.full.write(as: .v24)
        var read = 0
        try Self.mutate(good, 4000) { bytes in
            guard let document = try? CPIXSamples.read(bytes) else { return }
            read += 1
            let written = try document.write(as: .v24)
            #expect(try CPIXSamples.read(written).write(as: .v24) == written)
        }
        #expect(read > 40)
    }
}
