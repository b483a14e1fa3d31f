// SPDX-License-Identifier: Apache-2.0

import CarrelWeb
import Testing

/// The text of an asset; every file of ours is UTF-8.
func text(_ asset: WebAsset) -> String { String(decoding: asset.bytes, as: UTF8.self) }

func assets(_ suffix: String) -> [WebAsset] { WebAssets.all.filter { $0.name.hasSuffix(suffix) } }

struct `Web assets` {
    @Test func `have media types that match their names and distinct entity tags`() {
        for asset in WebAssets.all {
            let type =
                switch asset.name.split(separator: ".").last {
                case "html", "part": "text/html; charset=utf-8"
                case "css": "text/css; charset=utf-8"
                case "js": "text/javascript; charset=utf-8"
                case "svg": "image/svg+xml"
                case "json": "application/json"
                default: "unknown"
                }
            #expect(asset.mediaType == type, "\(asset.name)")
            #expect(!asset.bytes.isEmpty, "\(asset.name)")
            #expect(asset.etag.first == "\"" && asset.etag.last == "\"" && asset.etag.count == 24)
        }
        #expect(Set(WebAssets.all.map(\.etag)).count == WebAssets.all.count)
        #expect(WebAssets.named("listen.html") != nil)
        #expect(WebAssets.named("../listen.html") == nil)
    }

    @Test func `refer to one another only by names that exist`() {
        for asset in WebAssets.all {
            for match in text(asset).matches(of: /\/assets\/([a-z0-9.-]+)/) where match.1.contains(".") {
                #expect(WebAssets.named(String(match.1)) != nil, "\(asset.name) refers to \(match.1)")
            }
            for match in text(asset).matches(of: /from '\.\/([a-z0-9.-]+)'/) {
                #expect(WebAssets.named(String(match.1)) != nil, "\(asset.name) imports \(match.1)")
            }
        }
    }

    @Test func `are all reached from a page`() {
        // used by scripts, for people who write clients, and put into the documents of publications
        var reached: Set<String> = ["icons.svg", "openapi.json", "read-frame.js", "read-styles.js", "read-words.js"]
        for page in assets(".html") + assets(".part") {
            reached.insert(page.name)
            for match in text(page).matches(of: /\/assets\/([a-z0-9.-]+)/) { reached.insert(String(match.1)) }
        }
        #expect(Set(WebAssets.all.map(\.name)).subtracting(reached).isEmpty)
    }

    @Test(arguments: [
        ("account.html", "account.js"), ("admin.html", "admin.js"), ("listen.html", "listen.js"), ("read.html", "read.js"),
        ("shelf.html", "shelf.js"),
    ])
    func `a page preloads exactly the modules that its script imports`(page: String, script: String) throws {
        var imported: Set<String> = []
        var waiting = [script]
        while let name = waiting.popLast() {
            let source = text(try #require(WebAssets.named(name)))
            for match in source.matches(of: /(?m)^import [^;]*?'\.\/([a-z0-9-]+\.js)';/) {
                if imported.insert(String(match.1)).inserted { waiting.append(String(match.1)) }
            }
        }
        let preloaded = text(try #require(WebAssets.named(page))).matches(of: /modulepreload" href="\/assets\/([a-z0-9-]+\.js)"/)
        #expect(preloaded.map { String($0.1) } == imported.sorted())
    }

    @Test func `use icons that the sprite has`() throws {
        let sprite = text(try #require(WebAssets.named("icons.svg")))
        for asset in WebAssets.all {
            let uses = text(asset).matches(of: /icons\.svg#([a-z-]+)/).map { String($0.1) }
            let made = text(asset).matches(of: /(?:icon\(|icon: |setIcon\([a-zA-Z]+, )'([a-z-]+)'/).map { String($0.1) }
            for name in uses + made { #expect(sprite.contains("id=\"\(name)\""), "\(asset.name) uses \(name)") }
        }
    }
}

struct `Content security policy` {
    @Test(arguments: assets(".html") + assets(".part"))
    func `pages carry no inline script, style or handler, and nothing from elsewhere`(page: WebAsset) {
        let html = text(page)
        #expect(!html.contains(/<script(?![^>]*\ssrc=)/))
        #expect(!html.contains(/<style|\sstyle=|\son[a-z]+=|javascript:/))
        #expect(!html.contains(/(?:src|href)="(?:https?:)?\/\//))
    }

    @Test(arguments: assets(".html")) func `pages say what language they are in, and fit a telephone`(page: WebAsset) {
        let html = text(page)
        #expect(html.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
        #expect(html.contains("<meta name=\"viewport\""))
    }

    @Test(arguments: assets(".js")) func `scripts make no markup or code from strings`(script: WebAsset) {
        let forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style'/
        #expect(!text(script).contains(forbidden))
    }

    @Test(arguments: assets(".css") + assets(".svg")) func `styles and drawings load nothing`(file: WebAsset) {
        #expect(!text(file).contains(/@import|url\(|<script|<style|https?:\/\/(?!www\.w3\.org\/)/))
    }

    @Test func `allows our own files and audio from the page, nothing else`() {
        #expect(WebAssets.contentSecurityPolicy.hasPrefix("default-src 'self'; media-src 'self' blob:; "))
        #expect(!WebAssets.contentSecurityPolicy.contains("unsafe"))
    }
}

struct `Browsers of 2023` {
    /// Since Firefox 115 ESR and Safari 16.4: found by their names, where nothing asks first whether they are there.
    @Test(arguments: assets(".js")) func `have what scripts use`(script: WebAsset) {
        let newer = [
            "AbortSignal.any(", "Array.fromAsync(", "Object.groupBy(", "Map.groupBy(", "Promise.withResolvers(", "Promise.try(",
            "URL.canParse(", "URL.parse(", "Response.json(", ".checkVisibility(", ".startViewTransition(", ".showPopover(",
            ".isSubsetOf(", ".isSupersetOf(", ".isDisjointFrom(", ".symmetricDifference(", ".intersection(", ".difference(",
            ".toWellFormed(", ".isWellFormed(", ".requestClose(", ".moveBefore(", ".setHTMLUnsafe(", "RegExp.escape(",
            "Iterator.from(", ".values().map(", ".values().filter(", ".keys().map(", ".entries().map(", "Intl.Segmenter",
            "Intl.DurationFormat", "CSS.highlights.", "navigator.locks.", "Uint8Array.fromBase64(",
            ".toBase64(", ".toHex(", "scheduler.", "requestIdleCallback(", "'scrollend'", "caretPositionFromPoint(",
        ]
        let source = text(script)
        for name in newer where source.contains(name) {
            let isGuarded = script.name == "read-styles.js" && name == "CSS.highlights."
            #expect(isGuarded, "\(script.name) uses \(name)")
        }
        #expect(!source.contains(/\.aria[A-Z]/), "attributes have the names that all browsers know")
    }

    @Test(arguments: assets(".css")) func `have what styles need`(style: WebAsset) {
        let source = text(style)
        for name in [
            "text-wrap: nowrap", "light-dark(", "@starting-style", "@scope", "field-sizing", "anchor(", ":has-slotted", ":open",
        ] {
            #expect(!source.contains(name), "\(style.name) uses \(name)")
        }
        // a list with a selector that is not known is left out as a whole, and rules in rules are
        #expect(!source.contains(/(?m)^[^{}]*(?:,[^{}]*:has\(|:has\([^{}]*\)[^{}]*,)[^{}]*\{/))
        #expect(!source.contains(/(?m)^\s*&/))
    }
}

struct `Elements` {
    @Test(arguments: [("listen.html", "shelf.js"), ("read.html", ""), ("shelf.html", "listen.js")])
    func `that scripts look for are on their page`(page: String, otherScript: String) throws {
        let html = text(try #require(WebAssets.named(page)))
        let ids = html.matches(of: /\sid="([^"]+)"/).map { String($0.1) }
        #expect(Set(ids).count == ids.count, "an id is used twice")
        let scripts = html.matches(of: /modulepreload" href="\/assets\/([a-z0-9-]+\.js)"/).map { String($0.1) }
        for name in scripts where name != otherScript {
            for match in text(try #require(WebAssets.named(name))).matches(of: /byId\('([^']+)'\)/) {
                #expect(ids.contains(String(match.1)), "\(name) looks for #\(match.1)")
            }
        }
        for match in html.matches(of: /(?:aria-controls|aria-labelledby|for)="([^"]+)"/) {
            #expect(ids.contains(String(match.1)), "#\(match.1) is referred to")
        }
    }
}
