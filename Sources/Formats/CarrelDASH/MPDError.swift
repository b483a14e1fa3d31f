// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Why an MPD cannot be written.
package struct MPDError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<MPDError>

    /// The kind of failure.
    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == MPDError {
    /// An address template is malformed (ISO/IEC 23009-1 §5.3.9.4.4).
    package static var template: Self { Self("dash.template") }
}

extension URLTemplate {
    /// A template for writing.
    ///
    /// - Parameter text: such as `$RepresentationID$/$Number%05d$.m4s`.
    /// - Returns: the template.
    /// - Throws: `template` for a single dollar sign, an unknown identifier or an invalid width.
    package static func parse(_ text: String) throws(MPDError) -> URLTemplate {
        do throws(Fault) { return try URLTemplate(text) } catch { throw MPDError(.template, error.what) }
    }
}
