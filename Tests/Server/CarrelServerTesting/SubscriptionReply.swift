// SPDX-License-Identifier: Apache-2.0

package import CarrelEditionDelivery
package import CarrelHTTP

/// An answer of one of the five calls.
package struct SubscriptionReply {
    package let status: Int
    package let headers: HTTPFields
    /// The document without its prolog, or the body where it has none.
    package var xml: String
    /// Whether it has a prolog.
    package var isDocument = true

    package init(status: Int, headers: HTTPFields, xml: String, isDocument: Bool = true) {
        (self.status, self.headers, self.xml, self.isDocument) = (status, headers, xml, isDocument)
    }

    /// The document with the text after the mark replaced.
    package func without(_ mark: String, as name: String) -> SubscriptionReply {
        guard let start = xml.firstRange(of: mark)?.upperBound,
            let end = xml[start...].firstIndex(where: { $0 == "<" || $0 == "\"" })
        else { return self }
        var copy = self
        copy.xml = xml[..<start] + name + xml[end...]
        return copy
    }
}

extension SubscriptionReply {
    /// The token in it.
    package var token: String { String(xml.dropFirst("<token>".count).dropLast("</token>".count)) }

    /// The credentials in it.
    package var pair: EditionCredentials.Pair? {
        guard let userID = text(of: "userid"), let password = text(of: "password") else { return nil }
        return EditionCredentials.Pair(userID: userID, password: password)
    }

    private func text(of element: String) -> String? {
        guard let start = xml.firstRange(of: "<\(element)>")?.upperBound, let end = xml[start...].firstIndex(of: "<") else {
            return nil
        }
        return String(xml[start..<end])
    }
}
