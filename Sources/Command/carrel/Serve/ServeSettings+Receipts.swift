// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelReceipts
import CarrelSettings

extension ReceiptOptions {
    /// The settings of the group, as part of the one table.
    static let settings: [Setting<ServeSettings>] = [
        Setting(
            \.receipts.roots,
            "receipts.roots",
            value: "file",
            help: "Root certificates (PEM or DER) of app-store signatures; unset: purchases are off."
        ),
        Setting(
            \.receipts.bundleIDs,
            "receipts.bundle-ids",
            value: "id",
            help: "Bundle ids of the apps whose purchases are accepted."
        ),
        Setting(
            \.receipts.environments,
            "receipts.environments",
            help: "Store environments whose purchases are accepted; Sandbox purchases are unpaid: use it on test servers only."
        ),
        Setting(
            \.receipts.plans,
            "receipts.plans",
            value: "product=plan",
            help:
                "Plans granted by store products, such as com.example.monthly=gold, com.example.sub.*=gold or year=gold/365d."
        ),
        Setting(
            \.receipts.products,
            "receipts.products",
            value: "product=id",
            help: "Store product ids that differ from the catalog's, as STORE=CATALOG; others are equal."
        ),
    ]
}
