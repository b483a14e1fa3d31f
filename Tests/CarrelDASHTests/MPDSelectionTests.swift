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
    private let selection = MPDSelection(languages: ["de", "en"]) { _, codecs in codecs?.hasPrefix("ok") ?? false }

    private func order(_ kind: String, _ sets: [String]) throws -> [String] {
        let period = try period(sets.joined())
        return selection.sets(of: kind, in: period).compactMap { period.adaptationSets[$0].id }
    }

    @Test func `goes by the main role, then by codecs, then by language`() throws {
        let sets = [
            set("fr", "audio", "fr", "ok"), set("none", "audio", "", "ok"), set("en", "audio", "en-GB", "ok"),
            set("bad", "audio", "de", "no"),
            set("de", "audio", "DE", "ok"), set("main-bad", "audio", "de", "no", isMain: true),
            set("main", "audio", "fr", "ok", isMain: true), set("v", "video", "", "ok"),
        ]
        #expect(try order("audio", sets) == ["main", "main-bad", "de", "en", "fr", "none", "bad"])
        #expect(try order("video", sets) == ["v"])
        #expect(try order("text", sets).isEmpty)
    }

    @Test func `keeps the order of the MPD among equals, and of pictures whatever their language`() throws {
        let names = (0..<40).map { "s\($0)" }
        #expect(try order("video", names.map { set($0, "video", $0 == "s7" ? "de" : "fr", "ok") }) == names)
        #expect(try order("audio", names.map { set($0, "audio", "en", "ok") }) == names)
    }

    @Test func `of the role counts the scheme of DASH alone`() throws {
        let other =
            "<AdaptationSet id='x' contentType='audio'><Role schemeIdUri='urn:other' value='main'/><Representation id='r' bandwidth='1'/></AdaptationSet>"
        #expect(try order("audio", [other, set("y", "audio", "", "ok", isMain: true)]) == ["y", "x"])
    }

    @Test func `takes the representations that the caller plays, by bandwidth`() throws {
        let period = try period(
            """
            <AdaptationSet codecs='ok'><Representation id='a' bandwidth='9'/><Representation id='b' bandwidth='3' codecs='no'/>
            <Representation id='c' bandwidth='3'/><Representation id='d' bandwidth='3'/></AdaptationSet>
            """
        )
        let set = period.adaptationSets[0]
        #expect(selection.representations(of: set).map { set.representations[$0].id } == ["c", "d", "a"])
    }

    @Test func `goes on in the next period with the same id, or else the nearest`() throws {
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
