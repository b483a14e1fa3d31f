// SPDX-License-Identifier: Apache-2.0

/// How a token is found among those of a module.
public enum PKCS11Token: Sendable, Hashable, CustomStringConvertible {
    /// By the label that it got when it was initialized; two tokens may have the same.
    case label(String)
    /// By its serial number.
    case serial(String)

    /// The way and the text.
    public var description: String {
        switch self {
        case .label(let label): "with the label '\(label)'"
        case .serial(let serial): "with the serial number '\(serial)'"
        }
    }
}
