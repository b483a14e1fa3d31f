/// How well a vault keeps the keys of a device. A license can ask for a level.
public enum VaultLevel: String, Sendable, CaseIterable, Comparable {
    /// Nothing keeps the keys from whoever reads the files. For tests.
    case none
    /// A passphrase, which may be guessed where the file is copied.
    case passphrase
    /// The operating system, for the signed-in user.
    case os
    /// A chip or a token that does not give keys away.
    case hardware

    private var order: Int {
        switch self {
        case .none: 0
        case .passphrase: 1
        case .os: 2
        case .hardware: 3
        }
    }

    public static func < (a: VaultLevel, b: VaultLevel) -> Bool { a.order < b.order }
}
