// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Glibc
import Testing

// Titles, orders and plans.
extension AdminTour {
    func plans() async throws {
        try await go("plans", until: "New plan")
        try await fill("create-plan", [("name", "gold")], until: "Created gold")
        #expect(try await ask("plans")["plans"]?.array?.first?["scope"] == "everything")
        try await site.fill(browser, "create-plan", [("name", "gold")])
        #expect(try await problem().contains("gold"), "twice")
    }

    /// Sends files; the id of the audiobook.
    func uploads() async throws -> String {
        let (sound, picture) = (site.directory.file("tone.mp3"), site.directory.file("cover.png"))
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=8", "-c:a", "libmp3lame", sound,
        ])
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "color=teal:size=64x64", "-frames:v", "1", picture,
        ])
        let book = site.directory.write("issue.pdf", Self.pdf)
        try await go("catalog", until: "Add an edition")

        // A file that is stopped on its way leaves nothing.
        let large = site.directory.write("large.mp3", "")
        #expect(unsafe truncate(large, 256 << 20) == 0)
        try await browser.script(
            """
            const place = document.querySelector('form[name=upload-title]').nextElementSibling;
            new MutationObserver(() => place.querySelector('button')?.click()).observe(place, { childList: true });
            """
        )
        try await fill("upload-title", [("file", large)])
        #expect(try await problem().contains("the upload was stopped"))
        #expect(try await ask("titles")["titles"]?.array?.isEmpty == true)
        try await go("plans", until: "New plan")
        try await go("catalog", until: "Add an edition")

        try await browser.script(
            """
            window.shares = [];
            const place = document.querySelector('form[name=upload-title]').nextElementSibling;
            new MutationObserver(() => window.shares.push(place.querySelector('progress')?.getAttribute('aria-label')))
              .observe(place, { childList: true });
            """
        )
        let authors = [("file", sound), ("title", "A tone"), ("authors", "Ann, Ben")]
        try await fill("upload-title", authors, until: "Added A tone")
        let title = try #require(try await ask("titles")["titles"]?.array?.first)
        #expect(title["authors"] == ["Ann", "Ben"])
        #expect(try await browser.script("return window.shares[0]") == "Sending tone.mp3")
        #expect(try await browser.text("#titles").contains("A tone"))
        try await fill("upload-title", [("file", picture)])
        #expect(try await problem().contains("The action failed"))

        try await fill(
            "upload-edition",
            [("file", book), ("productId", "issue-1"), ("title", "Issue 1")],
            until: "Added Issue 1"
        )
        #expect(try await ask("editions/issue-1")["edition"]?["price"] == "paid")

        try await press("Cover", in: "Titles", row: "A tone")
        try await browser.script("document.getElementById('said').textContent = ''")
        try await browser.type(picture, into: "#titles input[type=file]")
        try await browser.wait(until: "document.getElementById('said').textContent.includes('A tone has a new cover')")
        let id = title["id"]?.string ?? ""
        #expect(try await ask("titles/\(id)")["hasCover"] == true)

        func edition() async throws -> JSON? { try await ask("editions/issue-1")["edition"] }
        try await press("Make it free", in: "Editions", answer: "", until: "issue-1 is free")
        #expect(try await edition()?["price"] == "free")
        try await press("Make it paid", in: "Editions", until: "issue-1 is paid")
        #expect(try await edition()?["price"] == "paid")
        try await press("Protected file only", in: "Editions", answer: "", until: "issue-1: protected file only")
        #expect(try await edition()?["licensed"] == "only")
        try await press("Clear and protected file", in: "Editions", until: "issue-1: clear and protected file")
        #expect(try await edition()?["licensed"] == "also")
        try await press("Clear file only", in: "Editions", answer: "no")
        #expect(try await edition()?["licensed"] == "also")
        try await press("Clear file only", in: "Editions", answer: "", until: "issue-1: clear file only")
        #expect(try await edition()?["licensed"] == "off")
        try await press("Withdraw", in: "Editions", answer: "", until: "Withdrew issue-1")
        #expect(try await edition()?["state"] == "withdrawn")
        try await press("Publish", in: "Editions", until: "Published issue-1")
        #expect(try await edition()?["state"] == "published")
        return id
    }

    private static let pdf = """
        %PDF-1.4
        1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
        2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
        trailer<</Root 1 0 R>>
        %%EOF

        """

    func orders(_ title: String) async throws {
        try await go("orders", until: "New order")
        func state(_ account: String) async throws -> String? {
            try await ask("orders?account=\(account)")["orders"]?.array?.first?["state"]?.string
        }
        for account in ["bob", "dora"] {
            let values = [("account", account), ("title", title)]
            try await fill("create-order", values, until: "Placed an order for \(account)")
            #expect(try await state(account) == "ready")
        }
        try await fill("create-order", [("account", "bob"), ("title", "nothing")])
        #expect(try await problem().contains("The action failed"))
        try await press("Return", in: "Find", row: "bob", answer: "", until: "The title is returned")
        #expect(try await state("bob") == "returned")
        try await press("Revoke", in: "Find", row: "dora", answer: "", until: "The order is revoked")
        #expect(try await state("dora") == "revoked")
        try await fill("find-order", [("account", "dora")])
        try await browser.wait(until: "document.querySelectorAll('#orders tbody tr').length === 1")
        for number in 0..<51 {
            _ = try await send("orders", ["account": "eve", "title": .string(title), "orderNumber": .string("e\(number)")])
        }
        try await go("plans", until: "New plan")
        try await go("orders", until: "More")
        try await press("More", in: "Find")
        try await browser.wait(until: "document.querySelectorAll('#orders tbody tr').length === 53")
    }
}
