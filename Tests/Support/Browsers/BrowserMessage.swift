/// One line of a page's console, or an error nobody caught.
public struct BrowserMessage: Sendable, CustomStringConvertible {
    /// Whether it is an error: uncaught, logged as one, or a resource that could not be loaded or was refused by a policy.
    public let isError: Bool
    /// As the browser writes it.
    public let text: String

    public var description: String { isError ? "error: \(text)" : text }
}
