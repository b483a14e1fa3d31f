// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// Assembles a response from parser events, so that a long list of issues never becomes a tree.
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
