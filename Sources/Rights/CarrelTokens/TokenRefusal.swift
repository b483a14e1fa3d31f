// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelRights

/// The reason why the token service refuses a request, with the error number that its clients know.
///
/// The numbers and their meaning follow the public documents of ExpressPlay's token API; the texts, recommendations and statuses
/// are Carrel's. It never holds a value of the request.
package struct TokenRefusal: CodedError {
    /// The number of the refusal, which never changes its meaning.
    package let reason: Reason
    /// The parameter or the fact at fault: a lower-case phrase without a period and without values.
    package let detail: String

    package init(_ reason: Reason, _ detail: String = "") {
        self.reason = reason
        self.detail = detail
    }

    /// `rights.token-request.` and the name of the reason, as in `rights.token-request.rights-type-missing`.
    package var code: ErrorCode<TokenRefusal> { ErrorCode("rights.token-request.\(reason.name)") }
    /// The text of the reason and the detail.
    package var message: String { detail.isEmpty ? reason.text : "\(reason.text): \(detail)" }
    package var description: String { "\(message) (\(reason.rawValue))" }

    /// The numbers of refusals.
    package enum Reason: Int, Sendable, CaseIterable {
        case expiration = -2002
        case key = -2005
        case outputFlags = -2008
        case authenticatorMissing = -2017
        case authenticatorWrong = -2018
        case rightsTypeMissing = -2020
        case rightsTypeWrong = -2021
        case rentalEndMissing = -2022
        case playDurationMissing = -2023
        case playDurationWrong = -2025
        case keyLength = -2027
        case internalFault = -2030
        case accountDisabled = -2031
        case cookie = -2033
        case outputControl = -2034
        /// Also for missing, duplicate or invalid parameters without their own number.
        case value = -2035
        case extensionType = -2036
        case extensionPayload = -2037
        case flagsLength = -2040
        case errorFormat = -3004
        case keyIDMissing = -4018
        case keyStore = -4019
        case keyIDLength = -4020
        case labelLength = -4021
        case keyIDWrong = -4022
        /// Its public meaning is not known; here two keys have one id.
        case keyIDTwice = -4023
        case wrappedKey = -4024
        case unknownOutput = -5001
        case generalFlags = -5003
        case keyTwice = -5007

        /// A stable name in lower case with hyphens.
        package var name: String { facts.name }
        /// A lower-case sentence without a period.
        package var text: String { facts.text }
        /// The status of the response: 400, 401, 404 or 500. The public documents list the statuses and the numbers; the mapping
        /// between them is Carrel's choice.
        package var status: Int { facts.status }
        /// The way out for the client: a lower-case sentence without a period.
        package var recommendation: String { facts.advice }
    }
}

extension TokenRefusal.Reason {
    private typealias Facts = (name: String, status: Int, text: String, advice: String)

    private var facts: Facts {
        switch self {
        case .expiration:
            (
                "expiration", 400, "the token's expiration time is invalid",
                "send a future time in RFC 3339 and UTC, or + and seconds"
            )
        case .key:
            ("key", 400, "the content key is invalid", "send contentKey, or kek and ek, or kid alone for a stored key")
        case .outputFlags:
            ("output-flags", 400, "the output control flags are invalid", "send eight hexadecimal digits")
        case .authenticatorMissing:
            (
                "authenticator-missing", 400, "the authenticator is missing",
                "send customerAuthenticator: account id, comma, API key"
            )
        case .authenticatorWrong:
            ("authenticator-wrong", 401, "the authenticator is wrong", "check the account id and the API key of this service")
        case .rightsTypeMissing:
            ("rights-type-missing", 400, "the rights type is missing", "send rightsType: BuyToOwn or Rental")
        case .rightsTypeWrong:
            ("rights-type-wrong", 400, "the rights type is wrong", "send BuyToOwn or Rental for a license, and none for a stream")
        case .rentalEndMissing:
            (
                "rental-end-missing", 400, "the end of the rental period is missing or invalid",
                "send rental.periodEndTime: a future time in RFC 3339 and UTC, or + and seconds"
            )
        case .playDurationMissing:
            ("play-duration-missing", 400, "the play duration of the rental is missing", "send rental.playDuration in seconds")
        case .playDurationWrong:
            (
                "play-duration-wrong", 400, "the play duration of the rental is invalid",
                "send a whole number of seconds, at least 1"
            )
        case .keyLength:
            ("key-length", 400, "a key must be 32 hexadecimal digits long", "send 16 bytes in hexadecimal digits")
        case .internalFault:
            ("internal", 500, "the service failed", "try again; the service's log has the reason")
        case .accountDisabled:
            ("account-disabled", 401, "the account is disabled", "ask the operator to enable the API key")
        case .cookie:
            ("cookie", 400, "the cookie is invalid", "send at most 255 bytes without control characters")
        case .outputControl:
            (
                "output-control", 400, "the output control is invalid or out of range",
                "send urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0"
            )
        case .value:
            ("value", 400, "a parameter has no usable value", "check the parameters; names are case-sensitive")
        case .extensionType:
            ("extension-type", 400, "an extension type must be 4 characters long", "send four visible ASCII characters")
        case .extensionPayload:
            ("extension-payload", 400, "an extension payload must be base 64", "send base 64 with padding, at most 1,024 bytes")
        case .flagsLength:
            ("flags-length", 400, "flags must be 4 bytes long", "send eight hexadecimal digits")
        case .errorFormat:
            ("error-format", 400, "the error format is invalid", "send errorFormat html or json")
        case .keyIDMissing:
            ("kid-missing", 400, "the key id is missing", "send kid, or contentId and contentKey")
        case .keyStore:
            ("key-store", 404, "the key store has no such key", "store the key first, or send contentKey")
        case .keyIDLength:
            ("kid-length", 400, "a key id must be 32 hexadecimal digits long", "send 32 hexadecimal digits, or ^ and a label")
        case .labelLength:
            ("kid-label-length", 400, "a label of a key id has 1 to 64 characters", "send a shorter label behind ^")
        case .keyIDWrong:
            ("kid", 400, "the key id is invalid", "send the key id that the content id names")
        case .keyIDTwice:
            ("kid-twice", 400, "two keys have the same id", "send each key once")
        case .wrappedKey:
            (
                "wrapped-key", 400, "the wrapped key or its kek is invalid",
                "send ek as RFC 3394 wraps 16 bytes, 48 hexadecimal digits"
            )
        case .unknownOutput:
            ("unknown-output", 400, "the behavior on unknown outputs is invalid", "send Allow, Disallow or SDOnly")
        case .generalFlags:
            ("general-flags", 400, "the general flags are invalid", "send eight hexadecimal digits")
        case .keyTwice:
            ("key-twice", 400, "a key is given in two ways", "send either contentKey, or kek and ek")
        }
    }
}
