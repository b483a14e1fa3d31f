// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

private func period(_ sets: String) throws -> MPDPeriod {
    let bytes = Array("<MPD><Period>\(sets)</Period></MPD>".utf8)
    return try #require(try MPD.parse(bytes.rawSpan).periods.first)
}

/// A set by its id, kind, language, codecs and whether it is the main one.
private func set(_ id: String, _ kind: String, _ language: String, _ codecs: String, isMain: Bool = false) -> String {
    let role = isMain ? "<Role schemeIdUri='urn:mpeg:dash:role:2011' value='main'/>" : ""
    return
        "<AdaptationSet id='\(id)' contentType='\(kind)' \(language.isEmpty ? "" : "lang='\(language)'") codecs='\(codecs)'>\(role)"
        + "<Representation id='\(id)1' bandwidth='100'/><Representation id='\(id)2' bandwidth='300'/></AdaptationSet>"
}

struct `Selection of adaptation sets` {
    @Test func `continues in the next period with the same id, or else the nearest`() throws {
        let first = try period(set("a", "audio", "de", "ok.1", isMain: true)).adaptationSets[0]
        func match(_ sets: String...) throws -> String? {
            let next = try period(sets.joined())
            let found = MPDSelection.match(first.representations[1], of: first, in: next)
            return found.map { next.adaptationSets[$0.adaptationSet].representations[$0.representation].id }
        }
        // the id counts within the kind
        #expect(try match(set("x", "audio", "de", "ok.1"), set("a", "audio", "fr", "no")) == "a2")
        #expect(try match(set("a", "video", "", "ok.1"), set("x", "audio", "fr", "no")) == "x2")
        // then codec, language, role and bandwidth
        #expect(try match(set("x", "audio", "de", "no"), set("y", "audio", "fr", "ok.2")) == "y2")
        #expect(try match(set("x", "audio", "fr", "ok.2"), set("y", "audio", "DE", "ok.3")) == "y2")
        #expect(try match(set("x", "audio", "de", "ok"), set("y", "audio", "de", "ok", isMain: true)) == "y2")
        #expect(try match(set("x", "audio", "de", "ok"), set("y", "audio", "de", "ok")) == "x2")
        #expect(try match(set("a", "video", "", "ok")) == nil)
    }
}
