// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension Browser {
    /// Turns the wheel over a point of the window, as one notch of it.
    ///
    /// - Parameters:
    ///   - pixels: how far, downwards.
    ///   - point: where the pointer is, in CSS pixels.
    ///   - holding: keys that are down meanwhile.
    /// - Throws: ``BrowserError``.
    package func wheel(_ pixels: Int, at point: (x: Int, y: Int), holding: [String] = []) async throws {
        let scroll: JSON = [
            "type": "scroll", "x": .integer(point.x), "y": .integer(point.y), "deltaX": 0, "deltaY": .integer(pixels),
            "duration": 0,
        ]
        // each source does one thing at a time: the keys go down first, and up last
        let pause: JSON = ["type": "pause"]
        let down = holding.map { key -> JSON in ["type": "keyDown", "value": .string(key)] }
        let up = holding.reversed().map { key -> JSON in ["type": "keyUp", "value": .string(key)] }
        let wheel: JSON = ["type": "wheel", "id": "wheel", "actions": .array(down.map { _ in pause } + [scroll])]
        let keyboard: JSON = ["type": "key", "id": "keyboard", "actions": .array(down + [pause] + up)]
        _ = try await driver.perform(.perform(holding.isEmpty ? [wheel] : [keyboard, wheel]))
    }

    /// Moves a finger over the window.
    ///
    /// - Parameters:
    ///   - start: where it touches, in CSS pixels.
    ///   - end: where it is lifted.
    /// - Throws: ``BrowserError``.
    package func touch(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) async throws {
        func move(_ point: (x: Int, y: Int), _ milliseconds: Int) -> JSON {
            ["type": "pointerMove", "x": .integer(point.x), "y": .integer(point.y), "duration": .integer(milliseconds)]
        }
        let finger: JSON = [
            "type": "pointer", "id": "finger", "parameters": ["pointerType": "touch"],
            "actions": [
                move(start, 0), ["type": "pointerDown", "button": 0], move(end, 300), ["type": "pointerUp", "button": 0],
            ],
        ]
        _ = try await driver.perform(.perform([finger]))
    }
}
