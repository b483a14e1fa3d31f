// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

/// Compares `text` with the committed file `Tests/Golden/CarrelCommandLine/<name>`; UPDATE_GOLDEN=1 rewrites the file instead.
func expectGolden(_ name: String, _ text: String, at location: SourceLocation = #_sourceLocation) throws {
    let path = "\(Repository.path)/Tests/Golden/CarrelCommandLine/\(name)"
    if unsafe getenv("UPDATE_GOLDEN") != nil {
        guard let stream = unsafe fopen(path, "we") else { throw NoFile(path: path) }
        defer { unsafe fclose(stream) }
        unsafe fputs(text, stream)
        return
    }
    let kept = try contents(path)
    if text != kept { Attachment.record(text, named: name) }
    #expect(text == kept, "\(name) is not as committed; UPDATE_GOLDEN=1 accepts it", sourceLocation: location)
}

private struct NoFile: Error {
    let path: String
}

private func contents(_ path: String) throws -> String {
    guard let stream = unsafe fopen(path, "re") else { throw NoFile(path: path) }
    defer { unsafe fclose(stream) }
    var bytes: [UInt8] = []
    while true {
        let byte = unsafe fgetc(stream)
        if byte == EOF { return String(decoding: bytes, as: UTF8.self) }
        bytes.append(UInt8(byte))
    }
}
