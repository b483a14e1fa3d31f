/// A key that is no character, by its code point in WebDriver (§17.4.2).
public enum BrowserKey {
    public static let backspace = "\u{E003}"
    public static let tab = "\u{E004}"
    public static let enter = "\u{E007}"
    public static let shift = "\u{E008}"
    public static let control = "\u{E009}"
    public static let escape = "\u{E00C}"
    public static let space = "\u{E00D}"
    public static let pageUp = "\u{E00E}"
    public static let pageDown = "\u{E00F}"
    public static let end = "\u{E010}"
    public static let home = "\u{E011}"
    public static let left = "\u{E012}"
    public static let up = "\u{E013}"
    public static let right = "\u{E014}"
    public static let down = "\u{E015}"
    public static let delete = "\u{E017}"
}
