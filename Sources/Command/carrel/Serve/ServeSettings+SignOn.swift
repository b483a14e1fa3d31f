// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelSettings

extension SignOnOptions {
    /// The settings of the group, as part of the one table.
    static let settings: [Setting<ServeSettings>] = [
        Setting(
            \.signOn.issuer,
            "oidc.issuer",
            value: "url",
            help: "Issuer URL of the OpenID provider; unset: no single sign-on."
        ),
        Setting(\.signOn.clientID, "oidc.client-id", value: "name", help: "Client id of this server at the provider."),
        Setting(
            \.signOn.secretFile,
            "oidc.client-secret-file",
            value: "file",
            help: "File with the client secret; unset for a public client."
        ),
        Setting(\.signOn.scopes, "oidc.scopes", value: "word", help: "Scopes requested in addition to openid."),
        Setting(
            \.signOn.groupsClaim,
            "oidc.groups-claim",
            value: "name",
            help: "Claim that lists a user's groups."
        ),
        Setting(
            \.signOn.plans,
            "oidc.plans",
            value: "group=plan",
            help: "Plans granted by groups, such as readers=gold."
        ),
        Setting(
            \.signOn.roles,
            "oidc.roles",
            value: "group=role",
            help:
                "Roles granted by groups, such as it=admin or desk=support; if set, only the provider sets roles, except for owners."
        ),
        Setting(
            \.signOn.planLife,
            "oidc.plan-life",
            help: "How long a group's plan lasts after sign-in; groups are only read then."
        ),
        Setting(
            \.signOn.createsAccounts,
            "oidc.create-accounts",
            help: "Whether a first sign-in creates an account; if false, only linked identities get in."
        ),
        Setting(\.signOn.label, "oidc.label", value: "text", help: "Label of the button on the sign-in page."),
        Setting(
            \.signOn.authorities,
            "oidc.certificate-authorities",
            value: "file",
            help: "Certificate authorities (PEM) to trust for the provider, instead of the system's."
        ),
    ]
}
