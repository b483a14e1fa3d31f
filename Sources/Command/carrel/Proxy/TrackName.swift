// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelMediaSource
import CarrelProxy

/// A track as named by a user: by its index among tracks of its kind, from 0, or by its ID.
struct TrackName: TextValue, Equatable {
    static let valueName = "track"

    let selector: MediaSourceParameters.TrackSelector

    init(written text: String) throws(InvalidValue) {
        if text.hasPrefix("id:"), text.utf8.count > 3 {
            selector = .id(String(text.dropFirst(3)))
        } else if let place = Int(text), 0...10_000 ~= place {
            selector = .index(place)
        } else {
            throw InvalidValue("is neither a number from 0 nor 'id:' with an id")
        }
    }

    var written: String {
        switch selector {
        case .any: ""
        case .id(let id): "id:\(id)"
        case .index(let place): "\(place)"
        }
    }
}
