// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelXML

extension SubscriptionAnswer {
    /// Reads a server's answer: a state that is missing or not known is `unknown`, and so is an `error` in place of the answer; a
    /// category says its `term` or its `value`; what is not asked for is passed over.
    ///
    /// - Parameter bytes: the body of the response.
    /// - Returns: the answer.
    /// - Throws: `Malformed` if the bytes are not XML, or another document.
    public static func parse(_ bytes: [UInt8]) throws(Malformed) -> SubscriptionAnswer {
        var reading = SubscriptionReading()
        try AnswerDocument(bytes).each { reading.take($0) }
        guard let answer = reading.answer else { throw Malformed("the document is not an answer about a subscription", at: 0) }
        return answer
    }
}

/// Puts an answer together from its events, so that a long list of issues is never a tree.
struct SubscriptionReading {
    private var head: SubscriptionAnswer?
    private var issues: [String]?
    /// The response; nil if the document was something else.
    var answer: SubscriptionAnswer? {
        var answer = head
        answer?.issues = issues
        return answer
    }

    /// The elements that are open, by their local names.
    private var path: [String] = []
    private var text = ""

    mutating func take(_ event: XMLEvent) {
        switch event {
        case .start(let name, let attributes):
            path.append(name.local)
            text = ""
            start(XMLElement(name, attributes: attributes))
        case .text(let more): text += more
        case .end:
            if path == ["subscription", "issues", "issue"] || path == ["subscription", "issue"] {
                let id = AnswerDocument.trimmed(text)
                if !id.isEmpty { issues?.append(id) }
            }
            path.removeLast()
            text = ""
        }
    }

    private mutating func start(_ element: XMLElement) {
        switch path {
        case ["subscription"]:
            let word = AnswerDocument.trimmed(element["state"] ?? "").lowercased()
            head = SubscriptionAnswer(SubscriptionAnswer.State(rawValue: word) ?? .unknown, message: element["message"])
        case ["error"]: head = SubscriptionAnswer(.unknown, message: element["message"])
        // A list without its frame is a list too: taken for none, it would open everything.
        case ["subscription", "issues"], ["subscription", "issue"]: if issues == nil { issues = [] }
        case ["subscription", "userinfo", "category"], ["subscription", "category"]:
            guard let scheme = element["scheme"] else { return }
            let term = element["term"] ?? element["value"] ?? ""
            head?.categories.append(SubscriptionAnswer.Category(scheme: scheme, term: term))
        default: return
        }
    }
}
