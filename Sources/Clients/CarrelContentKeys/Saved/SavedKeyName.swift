// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia

extension ContentKeyName {
    /// The name as the rows of saved keys have it, with its kind; nil for a name of a later version.
    var savedText: String? {
        switch self {
        case .id(let bytes): "id:\(Hex.encode(bytes))"
        case .content(let text): "content:\(text)"
        case .group(let text): "group:\(text)"
        case .track(let number): "track:\(number)"
        case .address(let text): "address:\(text)"
        @unknown default: nil
        }
    }
}

extension ContentKeyIdentifier {
    /// The names under which a key is saved: a track only if there is no other, because several files of an item have
    /// the same track numbers.
    ///
    /// - Parameter others: the other keys of the item.
    /// - Returns: the names as rows have them.
    func savedNames(among others: [ContentKeyIdentifier]) -> [String] {
        let kept = names.filter { name in
            switch name {
            case .id, .address: true
            case .track: names.count == 1
            default: !others.contains { $0 != self && $0.names.contains(name) }
            }
        }
        return kept.compactMap(\.savedText)
    }
}
