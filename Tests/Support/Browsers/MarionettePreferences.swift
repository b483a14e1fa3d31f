// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// The preferences of a Firefox that is quiet, plays without a prompt, and sends no background requests.
enum MarionettePreferences {
    private static let quiet: [(String, JSON)] = [
        ("marionette.port", 0),
        ("app.normandy.enabled", false),
        ("app.update.disabledForTesting", true),
        ("browser.aboutwelcome.enabled", false),
        ("browser.cache.disk.enable", false),
        ("browser.newtabpage.enabled", false),
        ("browser.safebrowsing.downloads.enabled", false),
        ("browser.safebrowsing.malware.enabled", false),
        ("browser.safebrowsing.phishing.enabled", false),
        ("browser.shell.checkDefaultBrowser", false),
        ("browser.startup.page", 0),
        ("browser.tabs.remote.autostart", true),
        ("datareporting.policy.dataSubmissionEnabled", false),
        ("devtools.console.stdout.content", true),
        ("dom.security.https_first", false),
        ("extensions.update.enabled", false),
        ("media.autoplay.blocking_policy", 0),
        ("media.autoplay.default", 0),
        ("media.gmp-manager.updateEnabled", false),
        ("network.captive-portal-service.enabled", false),
        ("network.connectivity-service.enabled", false),
        ("network.dns.disablePrefetch", true),
        ("network.prefetch-next", false),
        ("network.proxy.type", 0),
        ("services.settings.server", "data:,#remote-settings-dummy/v1"),
        ("toolkit.telemetry.enabled", false),
        ("toolkit.telemetry.unified", false),
        ("ui.useOverlayScrollbars", 1),
    ]

    static func text(_ options: BrowserOptions) -> String {
        let dark = options.colorScheme == .dark
        let chosen: [(String, JSON)] = [
            ("layout.css.prefers-color-scheme.content-override", dark ? 0 : 1),
            ("ui.prefersReducedMotion", options.reducesMotion ? 1 : 0),
            ("network.dns.localDomains", .string(options.loopbackNames.joined(separator: ","))),
        ]
        let silent: [(String, JSON)] = options.lacksSound ? [("media.cubeb.backend", "none")] : []
        return (quiet + chosen + silent).map { "user_pref(\"\($0.0)\", \($0.1));\n" }.joined()
    }
}
