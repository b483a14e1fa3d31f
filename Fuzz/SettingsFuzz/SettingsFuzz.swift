// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelSettings

private struct Table: SettingsTable {
    var number = 1
    var text: String?
    var words: [String] = []
    var time = Duration.seconds(1)
    var size = ByteCount(1)

    static let settings: [Setting<Self>] = [
        .init(\.number, "number", help: "A number."), .init(\.text, "text", help: "Text."),
        .init(\.words, "words", help: "Words."),
        .init(\.time, "time", help: "A time."), .init(\.size, "size", help: "A size."),
    ]
}

/// No file crashes the reader, and an accepted file has the same meaning when it is written as displayed.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let settings = try? LoadedSettings<Table>(file: SettingsFile(bytes, path: "fuzz")) else { return 0 }
    let time = settings.values.time.written
    let size = settings.values.size.written
    guard let again = try? LoadedSettings<Table>(file: SettingsFile(Array("time = \(time)\nsize = \(size)".utf8), path: "again"))
    else {
        fatalError("'\(time)' or '\(size)' cannot be read again")
    }
    precondition(again.values.time == settings.values.time && again.values.size == settings.values.size, "\(time) \(size)")
    return 0
}
