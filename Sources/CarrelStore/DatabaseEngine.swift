/// The two engines the product runs on.
public enum DatabaseEngine: String, Sendable, CaseIterable {
    case sqlite
    case postgresql
}
