import CarrelAuthority
import CarrelCommandLine
import CarrelOrders
import CarrelSettings

extension Leases.Mode: TextValue {}

/// Which copies of apps are personalised.
enum PersonalizationMode: String, CaseIterable, Sendable, TextValue {
    case open
    case account
}

/// The settings of devices and their certificates.
struct RightsOptions: Sendable {
    var personalization = PersonalizationMode.open
    var unlinked = Personalizations.Settings().unlinkedLimit
    var concurrencyMode = Leases.Mode.blockNewDevice

    static let settings: [Setting<ServeSettings>] = [
        Setting(
            \.rights.personalization,
            "devices.personalization",
            help: "Whether every copy of an app gets a certificate (open), or only with a signed-in reader (account)."
        ),
        Setting(
            \.rights.unlinked,
            "devices.unlinked",
            allowed: .range(0...100_000_000),
            help: "Maximum number of personalised copies without an account; they are deleted when their certificate expires."
        ),
        Setting(
            \.rights.concurrencyMode,
            "rights.concurrency-mode",
            help:
                "One stream more than stream.concurrency, of listeners and of licenses together: refused (BLOCK_NEW_DEVICE), or the oldest one ends (EVICT_OLDEST), or streams are not counted (NONE)."
        ),
    ]

    var settings: Personalizations.Settings {
        var made = Personalizations.Settings()
        made.needsAccount = personalization == .account
        made.unlinkedLimit = unlinked
        return made
    }
}
