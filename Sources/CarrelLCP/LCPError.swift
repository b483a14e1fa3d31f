/// Why something of Readium LCP did not come about: a stable code, and words for a person.
///
/// Two errors are equal when their codes are. Neither ever holds a passphrase, a key, or the name or address of a user.
public struct LCPError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. The set grows: always handle codes you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A dotted name that never changes, such as `lcp.expired`.
        public let identifier: String

        init(_ identifier: String) {
            self.identifier = identifier
        }

        public var description: String { identifier }

        /// The license document is none.
        public static let malformedLicense = Code("lcp.license")
        /// The publication is encrypted, and there is no license in it.
        public static let noLicense = Code("lcp.no-license")
        /// The status document is none.
        public static let malformedStatus = Code("lcp.status")
        /// The license follows a profile that is not registered here.
        public static let unsupportedProfile = Code("lcp.profile")
        /// The license was changed after it was signed, or not signed by its certificate.
        public static let signature = Code("lcp.signature")
        /// The provider's certificate leads to no root that is trusted, or was not valid when the license was issued.
        public static let certificate = Code("lcp.certificate")
        /// The provider's certificate was taken back.
        public static let certificateRevoked = Code("lcp.certificate-revoked")
        /// The passphrase is missing or wrong.
        public static let passphrase = Code("lcp.passphrase")
        /// Who was asked for the passphrase did not want to give it.
        public static let cancelled = Code("lcp.cancelled")
        /// The passphrase is right, and the content key is none.
        public static let contentKey = Code("lcp.content-key")
        /// The time from which the license is good has not come.
        public static let notStarted = Code("lcp.not-started")
        public static let expired = Code("lcp.expired")
        public static let revoked = Code("lcp.revoked")
        public static let returned = Code("lcp.returned")
        public static let loanCancelled = Code("lcp.loan-cancelled")
        /// The server says that the license stands in a way that is not known here.
        public static let unknownStatus = Code("lcp.unknown-status")
        /// A newer license took its place.
        public static let superseded = Code("lcp.superseded")
        /// The license or its status offers no such interaction.
        public static let notOffered = Code("lcp.not-offered")
        /// The server refused; its words are in ``LCPError/problem``.
        public static let refused = Code("lcp.refused")
        /// The server cannot be reached, or does not answer as it should.
        public static let unavailable = Code("lcp.unavailable")
        /// What is kept on this device cannot be read or written.
        public static let store = Code("lcp.store")
    }

    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// What a server said of it.
    public let problem: LicenseProblem?

    public init(_ code: Code, _ message: String, problem: LicenseProblem? = nil) {
        self.code = code
        self.message = message
        self.problem = problem
    }

    public static func == (a: Self, b: Self) -> Bool { a.code == b.code }

    public var description: String { "\(message) (\(code))" }
}
