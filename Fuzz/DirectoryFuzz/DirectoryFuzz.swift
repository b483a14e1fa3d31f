// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Glibc

@testable import CarrelPublication

private let limit: Int64 = 1 << 20

/// No archive makes its reader trap, with a password or without, and no entry gives more or other bytes than it says.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    finish {
        let whole = BytesResource(Link(href: "fuzz.zip"), bytes)
        guard let archive = try? await ArchiveFetcher(whole), let links = try? await archive.links() else { return }
        let unlocked = UnlockedArchive(archive, password: Secret(Array("fuzz".utf8)))
        for link in links.prefix(16) {
            guard let path = link.path, !path.string.hasPrefix("/"), !path.string.split(separator: "/").contains("..") else {
                fatalError("an unsafe name")
            }
            for fetcher in [archive as any Fetcher, unlocked] {
                let resource = fetcher.get(link)
                guard let length = try? await resource.length(), length <= limit,
                    let content = try? await resource.read(0..<length + 10)
                else { continue }
                precondition(Int64(content.count) == length, "another length than it says")
                let middle = length / 2
                guard let part = try? await resource.read(middle..<length) else { fatalError("a part cannot be read") }
                precondition(part.elementsEqual(content[Int(middle)...]), "a part has other bytes than the whole")
            }
        }
        _ = try? await FormatSniffer(PublicationAsset(path: "fuzz.zip"), archive).sniff()
        _ = try? await unlocked.isRight()
    }
    return 0
}
