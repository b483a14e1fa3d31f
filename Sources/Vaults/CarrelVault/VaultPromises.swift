// SPDX-License-Identifier: Apache-2.0

/// The properties of a vault's keys. They follow from its kind; none of them is certified.
public struct VaultPromises: Sendable, Hashable {
    /// Whether a private key never leaves the vault, not even for its owner.
    public let isNonExportable: Bool
    /// Whether a copy of the vault's files is useless on another device.
    public let isBoundToDevice: Bool
    /// Whether a user has to unlock it: with a passphrase, a PIN or a sign-in.
    public let needsUnlock: Bool
    /// Whether the keys are still there after the app's files were removed.
    public let survivesReinstall: Bool
    /// Whether an old copy of the vault's files is recognized as old.
    public let detectsRollback: Bool

    /// - Parameters:
    ///   - isNonExportable: see the property of this name, as for all others.
    ///   - isBoundToDevice: see there.
    ///   - needsUnlock: see there.
    ///   - survivesReinstall: see there.
    ///   - detectsRollback: see there.
    package init(
        isNonExportable: Bool,
        isBoundToDevice: Bool,
        needsUnlock: Bool,
        survivesReinstall: Bool,
        detectsRollback: Bool = false
    ) {
        self.isNonExportable = isNonExportable
        self.isBoundToDevice = isBoundToDevice
        self.needsUnlock = needsUnlock
        self.survivesReinstall = survivesReinstall
        self.detectsRollback = detectsRollback
    }

    /// The properties in words, separated by commas.
    var sentence: String {
        [
            isNonExportable ? "keys cannot be exported" : "keys can be copied by whatever opens the vault",
            isBoundToDevice ? "bound to the device" : "not bound to a device",
            needsUnlock ? "opened by its user" : "opened without its user",
            survivesReinstall ? "survives a reinstallation" : "lost with the app's files",
            detectsRollback ? "an old copy is recognized" : "an old copy is not recognized",
        ].joined(separator: ", ")
    }
}
