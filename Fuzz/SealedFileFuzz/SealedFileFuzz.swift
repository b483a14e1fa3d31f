// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelCrypto
import CarrelFiles
import CarrelSavedMedia
import Glibc

private let key = Secret(Array(repeating: 7, count: 32))
private let id = "abcdefghijklmnopqrstuvwxyz"
private let name = "0-1/00000.frag"

/// Only files that were sealed for this name are read, by any ranges as a whole; with one bit changed they are refused.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let content = read(bytes) else { return 0 }
    guard SealedFormat.storedLength(ofContent: Int64(content.count)) == Int64(bytes.count) else {
        fatalError("a file of another size was read")
    }
    var altered = bytes
    let place = content.reduce(bytes.count) { $0 &* 31 &+ Int($1) } & .max
    altered[place % bytes.count] ^= 1 << UInt8(place % 8)
    if read(altered) != nil { fatalError("an altered file was read") }
    return 0
}

/// The content of a sealed file; nil if it is refused.
private func read(_ stored: [UInt8]) -> [UInt8]? {
    let descriptor = clinux_memory_file()
    guard descriptor >= 0, unsafe clinux_write(descriptor, stored, stored.count) == 0 else { fatalError("there is no memory") }
    guard let memory = try? RegularFile(adopting: descriptor), let file = try? SealedFile(memory, name: name, key: key, id: id),
        let content = try? file.readAll()
    else { return nil }
    guard Int64(content.count) == file.length else { fatalError("the content has another length") }
    var place: Int64 = 0
    while place < file.length {
        guard let piece = try? file.read(place..<file.length), !piece.isEmpty,
            piece[...] == content[Int(place)..<Int(place) + piece.count]
        else { fatalError("a range has other bytes") }
        place += Int64(piece.count)
    }
    return content
}
