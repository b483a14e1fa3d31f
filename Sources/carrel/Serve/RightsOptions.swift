import CarrelAuthority
import CarrelCommandLine
import CarrelSettings

/// Which copies of apps are personalised.
enum PersonalizationMode: String, CaseIterable, Sendable, TextValue {
    case open
    case account
}

/// The settings of devices and their certificates.
struct RightsOptions: Sendable {
    var personalization = PersonalizationMode.open
    var unlinked = Personalizations.Settings().unlinkedLimit

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
    ]

    var settings: Personalizations.Settings {
        var made = Personalizations.Settings()
        made.needsAccount = personalization == .account
        made.unlinkedLimit = unlinked
        return made
    }
}
