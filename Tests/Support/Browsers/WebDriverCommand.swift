// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelJSON

/// A command of WebDriver as its two carriers name it: the W3C's HTTP interface and Marionette.
struct WebDriverCommand: Sendable {
    /// The name in Marionette, such as `WebDriver:Navigate`.
    let name: String
    let method: HTTPMethod
    /// The path below `/session/ID/`.
    let path: String
    let parameters: JSONObject
    /// The element that the path names; Marionette has it among the parameters.
    let element: String?

    init(
        _ name: String,
        _ method: HTTPMethod,
        _ path: String,
        _ parameters: JSONObject = [:],
        element: String? = nil
    ) {
        self.name = "WebDriver:\(name)"
        self.method = method
        self.path = path
        self.parameters = parameters
        self.element = element
    }

    static func navigate(_ url: String) -> Self { Self("Navigate", .post, "url", ["url": .string(url)]) }

    static let refresh = Self("Refresh", .post, "refresh")

    static let currentURL = Self("GetCurrentURL", .get, "url")

    static let title = Self("GetTitle", .get, "title")

    static func execute(_ script: String, _ arguments: [JSON]) -> Self {
        Self("ExecuteScript", .post, "execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    static func executeAsync(_ script: String, _ arguments: [JSON]) -> Self {
        Self("ExecuteAsyncScript", .post, "execute/async", ["script": .string(script), "args": .array(arguments)])
    }

    static func find(_ selector: String) -> Self {
        Self("FindElement", .post, "element", ["using": "css selector", "value": .string(selector)])
    }

    static func click(_ element: String) -> Self {
        Self("ElementClick", .post, "element/\(element)/click", element: element)
    }

    static func clear(_ element: String) -> Self {
        Self("ElementClear", .post, "element/\(element)/clear", element: element)
    }

    static func sendKeys(_ element: String, _ text: String) -> Self {
        Self("ElementSendKeys", .post, "element/\(element)/value", ["text": .string(text)], element: element)
    }

    /// Into the frame that an element is, or back to the page.
    static func switchToFrame(_ element: String?) -> Self {
        let frame: JSON = element.map { ["element-6066-11e4-a52e-4f735466cecf": .string($0)] } ?? .null
        return Self("SwitchToFrame", .post, "frame", ["id": frame])
    }

    static func perform(_ actions: JSON) -> Self { Self("PerformActions", .post, "actions", ["actions": actions]) }

    static let screenshot = Self("TakeScreenshot", .get, "screenshot", ["full": false])

    /// Lets pages do what a user would be asked about (Permissions §8.1).
    static func grant(_ permission: String) -> Self {
        Self("SetPermission", .post, "permissions", ["descriptor": ["name": .string(permission)], "state": "granted"])
    }

    /// The page on paper, as PDF in base 64.
    static func print(widthInCentimeters width: Double, height: Double) -> Self {
        let margin: JSON = ["top": 0, "bottom": 0, "left": 0, "right": 0]
        let paper: JSON = ["width": .real(width), "height": .real(height)]
        return Self("Print", .post, "print", ["page": paper, "margin": margin, "shrinkToFit": false, "background": true])
    }

    static func setWindow(width: Int, height: Int) -> Self {
        Self("SetWindowRect", .post, "window/rect", ["width": .integer(width), "height": .integer(height)])
    }

    static let newTab = Self("NewWindow", .post, "window/new", ["type": "tab"])

    static let closeWindow = Self("CloseWindow", .delete, "window")

    static func switchToWindow(_ handle: String) -> Self {
        Self("SwitchToWindow", .post, "window", ["handle": .string(handle)])
    }

    static func setTimeouts(milliseconds: Int) -> Self {
        let limit = JSON.integer(milliseconds)
        return Self("SetTimeouts", .post, "timeouts", ["script": limit, "pageLoad": limit, "implicit": 0])
    }
}
