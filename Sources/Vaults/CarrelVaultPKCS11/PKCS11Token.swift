// SPDX-License-Identifier: Apache-2.0

/// Selects a token of a module.
public enum PKCS11Token: Sendable, Hashable, CustomStringConvertible {
    /// The label from the token's initialization; two tokens may have the same label.
    case label(String)
    /// The serial number.
    case serial(String)

    /// The way and the text.
    public var description: String {
        switch self {
        case .label(let label): "with the label '\(label)'"
        case .serial(let serial): "with the serial number '\(serial)'"
        }
    }
}
