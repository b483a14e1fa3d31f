// SPDX-License-Identifier: Apache-2.0

import CarrelMedia

/// Keys by the addresses that a playlist writes, too: a caller may name them so.
struct WrittenAddressKeys: ContentKeySource {
    let keys: any ContentKeySource
    /// The address of a key line as the playlist has it, and resolved.
    let written: String
    let resolved: String

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        let answer = await keys.key(name)
        guard case .unknown = answer, name == .address(resolved), written != resolved else { return answer }
        return await keys.key(.address(written))
    }

    func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        guard written != resolved else { return await keys.key(anyOf: names) }
        return await keys.key(anyOf: names.flatMap { $0 == .address(resolved) ? [$0, .address(written)] : [$0] })
    }
}
