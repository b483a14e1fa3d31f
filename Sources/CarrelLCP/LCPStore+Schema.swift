import CarrelPublication
public import CarrelStore

extension LCPStore {
    /// The tables, for whoever opens the database.
    public static let migrations = [
        Migration(
            version: 1,
            name: "licenses",
            statements: [
                SQL("CREATE TABLE lcp_passphrase (digest BLOB NOT NULL, license TEXT, provider TEXT, user_id TEXT)"),
                SQL("CREATE TABLE lcp_device (place BIGINT PRIMARY KEY, id TEXT NOT NULL)"),
                SQL("CREATE TABLE lcp_registration (license TEXT PRIMARY KEY)"),
                SQL("CREATE TABLE lcp_revocation_list (url TEXT PRIMARY KEY, der BLOB NOT NULL, checked BIGINT NOT NULL)"),
                SQL("CREATE TABLE lcp_license (id TEXT PRIMARY KEY, document BLOB NOT NULL)"),
            ]
        ),
        DatabaseUserRightsStore.migration(version: 2),
    ]

    enum Statement {
        static let passphrases = SQL(
            "SELECT digest, license, provider, user_id FROM lcp_passphrase ORDER BY rowid DESC LIMIT $1"
        )
        static let forgetPassphrase = SQL(
            """
            DELETE FROM lcp_passphrase WHERE digest = $1 AND license IS NOT DISTINCT FROM $2
            AND provider IS NOT DISTINCT FROM $3 AND user_id IS NOT DISTINCT FROM $4
            """
        )
        static let addPassphrase = SQL(
            "INSERT INTO lcp_passphrase (digest, license, provider, user_id) VALUES ($1, $2, $3, $4)"
        )
        static let addDevice = SQL("INSERT INTO lcp_device (place, id) VALUES (1, $1) ON CONFLICT DO NOTHING")
        static let device = SQL("SELECT id FROM lcp_device WHERE place = 1")
        static let registration = SQL("SELECT license FROM lcp_registration WHERE license = $1")
        static let addRegistration = SQL("INSERT INTO lcp_registration (license) VALUES ($1) ON CONFLICT DO NOTHING")
        static let list = SQL("SELECT der, checked FROM lcp_revocation_list WHERE url = $1")
        static let lists = SQL("SELECT der FROM lcp_revocation_list")
        static let keepList = SQL(
            """
            INSERT INTO lcp_revocation_list (url, der, checked) VALUES ($1, $2, $3)
            ON CONFLICT (url) DO UPDATE SET der = excluded.der, checked = excluded.checked
            """
        )
        static let license = SQL("SELECT document FROM lcp_license WHERE id = $1")
        static let keepLicense = SQL(
            "INSERT INTO lcp_license (id, document) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET document = excluded.document"
        )
    }
}
