// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// An administrator who uses every button of the page, and checks the effect through the interface.
struct AdminTour {
    let site: AdminSite
    let browser: Browser

    /// Notes which buttons the page shows, and which are pressed, as `place · words`.
    static let recorder = """
        addEventListener('DOMContentLoaded', () => {
          const note = (name, words) => {
            const known = new Set(JSON.parse(sessionStorage.getItem(name) ?? '[]'));
            if (known.has(words)) return;
            sessionStorage.setItem(name, JSON.stringify([...known.add(words)]));
          };
          const key = (button) => {
            const copy = button.cloneNode(true);
            for (const hidden of copy.querySelectorAll('.visually-hidden')) hidden.remove();
            const place = location.hash.slice(2).split('/').filter((one) => one.length < 36).join('/');
            const title = button.closest('.card')?.querySelector('h2')?.textContent;
            // The question, the door and a file on its way are the same everywhere.
            const where = title && !button.closest('.upload') ? [place, title] : [];
            return [...where, copy.textContent.trim()].join(' · ');
          };
          const buttons = 'button, a.button, summary';
          addEventListener('click', (event) => {
            const button = event.target.closest?.(buttons);
            if (button) note('pressed', key(button));
          }, true);
          addEventListener('submit', (event) => { if (event.submitter) note('pressed', key(event.submitter)); }, true);
          let shown = location.hash;
          addEventListener('hashchange', () => { shown = location.hash; });
          const look = () => {
            // The address may already be the next view's while the buttons are still the previous one's.
            if (document.getElementById('view')?.hasAttribute('aria-busy')) return;
            if (location.hash !== shown) return;
            for (const button of document.querySelectorAll(buttons)) if (button.checkVisibility()) note('seen', key(button));
          };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
          look();
        });
        """

    /// The words of every button that is at one place of the page alone.
    func noted(_ name: String) async throws -> Set<String> {
        let words = try await browser.script("return JSON.parse(sessionStorage.getItem(arguments[0]) ?? '[]')", .string(name))
        return Set((words.array ?? []).compactMap(\.string))
    }

    func go(_ place: String, until text: String) async throws { try await site.go(browser, place, until: text) }

    /// Presses a button or a link by its words.
    ///
    /// - Parameters:
    ///   - words: what it says, but for those who only hear the page.
    ///   - card: the heading of the card that it is in.
    ///   - row: words of the row that it is in.
    ///   - answer: what the question that comes is answered with; “no” calls it off, an empty text says yes.
    ///   - said: what the page says when it is done.
    /// - Throws: where there is no such button, or the page says something else.
    func press(
        _ words: String,
        in card: String,
        row: String = "",
        answer: String? = nil,
        until said: String? = nil
    ) async throws {
        try await browser.script("document.getElementById('said').textContent = ''")
        let find = """
            (() => {
              document.querySelector('[data-press]')?.removeAttribute('data-press');
              const words = (button) => {
                const copy = button.cloneNode(true);
                for (const hidden of copy.querySelectorAll('.visually-hidden')) hidden.remove();
                return copy.textContent.trim();
              };
              const card = [...document.querySelectorAll('.card')].find((one) => one.querySelector('h2').textContent === '\(card)');
              const found = [...card.querySelectorAll('button, a.button, summary')].find((one) => words(one) === '\(words)'
                && (one.closest('tr')?.textContent ?? '').includes('\(row)'));
              found.setAttribute('data-press', '');
              return true;
            })()
            """
        try await browser.wait(until: find, timeout: .seconds(15))
        try await browser.click("[data-press]")
        if let answer {
            try await browser.wait(until: "document.getElementById('question').open")
            if answer == "no" {
                try await browser.click("#question-no")
                try await browser.wait(until: "!document.getElementById('question').open")
                return
            }
            if !answer.isEmpty {
                try await browser.clear("#question-answer")
                try await browser.type(answer, into: "#question-answer")
            }
            try await browser.click("#question-yes")
        }
        if let said { try await browser.wait(until: "document.getElementById('said').textContent.includes('\(said)')") }
    }

    /// Fills a form and sends it.
    func fill(_ form: String, _ values: [(String, String)], until said: String? = nil) async throws {
        try await browser.script("document.getElementById('said').textContent = ''")
        try await site.fill(browser, form, values)
        if let said { try await browser.wait(until: "document.getElementById('said').textContent.includes('\(said)')") }
    }

    /// Chooses an option of a form.
    func choose(_ option: String, _ name: String, in form: String) async throws {
        try await browser.script(
            """
            const select = document.querySelector(`form[name=${arguments[0]}] [name=${arguments[1]}]`);
            select.value = arguments[2];
            select.dispatchEvent(new Event('change'));
            """,
            .string(form),
            .string(name),
            .string(option)
        )
    }

    /// The interface's response.
    func ask(_ path: String) async throws -> JSON {
        let script = """
            const done = arguments[arguments.length - 1];
            fetch(arguments[0], { cache: 'no-store' }).then((r) => r.json()).then(done, () => done(null));
            """
        return try await browser.asyncScript(script, .string("/admin/v1/\(path)"))
    }

    /// Asks the interface as the page does; the JSON that it answers.
    func send(_ path: String, _ body: JSON) async throws -> JSON {
        let script = """
            const done = arguments[arguments.length - 1];
            const headers = { 'X-Carrel-Admin': 'page', 'Content-Type': 'application/json' };
            const body = JSON.stringify(arguments[1]);
            fetch(arguments[0], { method: 'POST', headers, body }).then((r) => r.json()).then(done, () => done(null));
            """
        return try await browser.asyncScript(script, .string("/admin/v1/\(path)"), body)
    }

    /// The id of the account whose page is open.
    func account() async throws -> String {
        try await browser.script("return location.hash.split('/')[2]").string ?? ""
    }

    /// The last actions in the audit log.
    func actions(_ count: Int = 20) async throws -> [String] {
        let entries = try await ask("audit?limit=\(count)")["entries"]?.array ?? []
        return entries.compactMap { $0["action"]?.string }
    }

    /// The message next to the failed control.
    func problem() async throws -> String {
        try await browser.wait(until: "document.querySelector('#view .problem')?.textContent")
        return try await browser.text("#view .problem")
    }

    /// A server's response to a program: the status, then the body.
    func curl(_ arguments: String...) async throws -> String {
        try await checkProcess(["curl", "-sS", "-w", " %{http_code}"] + arguments)
    }

    func carrel(_ words: String...) async throws -> String {
        try await checkProcess([DemoServer.program] + words + ["--home", site.home])
    }
}
