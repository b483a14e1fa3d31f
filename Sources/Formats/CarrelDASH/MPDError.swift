// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``MPDError``.
package enum MPDErrorDomain: ErrorDomain {}

/// Why an MPD cannot be written.
package typealias MPDError = CodedFailure<MPDErrorDomain>

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
