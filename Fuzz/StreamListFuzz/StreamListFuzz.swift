// SPDX-License-Identifier: Apache-2.0

import CarrelContentKeys

/// Entries of a list that is read have titles of their own and addresses of servers, and an error prints no token.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do throws(StreamListError) {
        let list = try StreamList(bytes)
        var titles: Set<String> = []
        for entry in list.entries {
            guard titles.insert(entry.title).inserted else { fatalError("a title is there twice") }
            guard list[entry.title]?.videoURL == entry.videoURL else { fatalError("an entry is not found") }
            let addresses = [entry.videoURL, entry.licenseServer ?? "https://a", entry.certificateURL ?? "https://a"]
            guard addresses.allSatisfy({ $0.lowercased().hasPrefix("http") }) else { fatalError("an address of no server") }
            do throws(StreamListError) { try entry.check() } catch {
                guard !entry.allowsPlainHTTP, error.code == .insecure else { fatalError("a permitted address is refused") }
            }
            guard !entry.description.contains(entry.licenseToken ?? "\u{0}") || entry.title.contains(entry.licenseToken ?? "")
            else { fatalError("a token is printed") }
        }
    } catch {
        if error.message.isEmpty { fatalError("an error without a message") }
    }
    return 0
}
