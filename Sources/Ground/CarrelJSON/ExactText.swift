// SPDX-License-Identifier: Apache-2.0

/// Text compared by Unicode scalars. `String` compares by canonical equivalence, which would confuse two members of one object.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (a: ExactText, b: ExactText) -> Bool {
        a.text.utf8.count == b.text.utf8.count && a.text.utf8.elementsEqual(b.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        let hashed: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe hasher.combine(bytes: .init($0)) }
        guard hashed == nil else { return }
        var copy = text
        copy.withUTF8 { unsafe hasher.combine(bytes: .init($0)) }
    }
}
