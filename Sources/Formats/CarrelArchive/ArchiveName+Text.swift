// SPDX-License-Identifier: Apache-2.0

extension ArchiveName {
    /// Returns a name as text (APPNOTE §4.4.4, appendix D): UTF-8 if declared or valid, otherwise code page 437.
    ///
    /// - Parameters:
    ///   - raw: the stored name.
    ///   - isUTF8: bit 11 of the entry's flags.
    /// - Returns: the text; invalid UTF-8 is replaced if the flag declares UTF-8.
    package static func text(_ raw: [UInt8], isUTF8: Bool) -> String {
        // as most names are
        if raw.allSatisfy({ $0 < 0x80 }) { return String(decoding: raw, as: UTF8.self) }
        if let text = String(validating: raw, as: UTF8.self) { return text }
        if isUTF8 { return String(decoding: raw, as: UTF8.self) }
        return String(String.UnicodeScalarView(raw.map { $0 < 0x80 ? Unicode.Scalar($0) : codePage437[Int($0) - 0x80] }))
    }

    /// The upper half of IBM's code page 437.
    private static let codePage437 = Array(
        ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}").unicodeScalars
    )
}
