// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension MediaPlaylistReader {
    mutating func readKey(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) {
        if !readsKeys {
            if let tag = context.keyTag(bytes, value) { return try take(tag, bytes, line) }
            readKeys(bytes)
        }
        guard let key = try context.key(bytes, value, line) else {
            keys = []
            return
        }
        if key.initializationVector != nil { need(2, "initialization vectors need version 2", line) }
        if key.keyFormat != nil || key.keyFormatVersions != nil { need(5, "key formats need version 5", line) }
        let format = key.keyFormat ?? "identity"
        if let index = keys.firstIndex(where: { ($0.keyFormat ?? "identity") == format }) {
            keys[index] = key
        } else {
            guard keys.count < 64 else { throw line.malformed("segment has too many keys") }
            keys.append(key)
        }
    }

    /// Takes a key that was checked.
    mutating func take(_ tag: KeyTag, _ bytes: RawSpan, _ line: PlaylistLine) throws(Malformed) {
        guard !tag.isNone else {
            keyTags = []
            return
        }
        if tag.hasVector { need(2, "initialization vectors need version 2", line) }
        if tag.hasFormat { need(5, "key formats need version 5", line) }
        if let index = keyTags.firstIndex(where: { bytes.isEqual($0.format.range, tag.format.range) }) {
            keyTags[index] = tag
        } else {
            guard keyTags.count < 64 else { throw line.malformed("segment has too many keys") }
            keyTags.append(tag)
        }
    }

    /// The keys in force.
    func keysInForce(_ bytes: RawSpan) -> [EncryptionKey] {
        readsKeys ? keys : keyTags.compactMap { KeyTag.key(bytes, $0.value.range) }
    }

    /// Reads keys immediately from here on.
    mutating func readKeys(_ bytes: RawSpan) {
        guard !readsKeys else { return }
        let isStale = isStateStale
        keys = keysInForce(bytes)
        keyTags = []
        readsKeys = true
        isStateStale = isStale
    }

    /// Records the state that the segment shares with others.
    mutating func keepState(_ line: PlaylistLine) throws(Malformed) {
        guard isStateStale else {
            // most keys have one segment; a key of several is read once
            let last = records.states.count - 1
            guard records.states[last].segmentState == nil else { return }
            let segmentState = records.make(records.states[last])
            try context.keep(160 + segmentState.keys.reduce(0) { $0 + $1.keptBytes }, line)
            records.states[last].segmentState = segmentState
            return
        }
        var state = SegmentRecords.State()
        if readsKeys {
            try context.keep(160 + keys.count * MemoryLayout<EncryptionKey>.stride, line)
            state.segmentState = SegmentState(keys: keys, initialization, bitrate, context.text)
        } else {
            try context.keep(32 + keyTags.count * 8, line)
            state.keys = Int32(clamping: records.keys.count)
            state.keyCount = Int32(clamping: keyTags.count)
            for tag in keyTags { records.keys.append(tag.value) }
            if let initialization {
                if isInitializationNew { records.initializations.append(initialization) }
                isInitializationNew = false
                state.initialization = Int32(clamping: records.initializations.count - 1)
            }
            if let bitrate {
                if records.bitrates.last != bitrate { records.bitrates.append(bitrate) }
                state.bitrate = Int32(clamping: records.bitrates.count - 1)
            }
        }
        records.states.append(state)
        isStateStale = false
    }
}

extension EncryptionKey {
    /// The bytes that it takes in memory, about.
    fileprivate var keptBytes: Int {
        var size = MemoryLayout<EncryptionKey>.stride + (initializationVector == nil ? 0 : 48)
        for text in [uri, keyFormat ?? "", keyFormatVersions ?? ""] where text.utf8.count > 15 { size += text.utf8.count + 32 }
        for attribute in otherAttributes.attributes {
            size += 48
            for text in [attribute.name, attribute.value.text] where text.utf8.count > 15 { size += text.utf8.count + 32 }
        }
        return size
    }
}
