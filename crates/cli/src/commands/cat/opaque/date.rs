//! Dates and durations of NumPy: a number of units, in dates since the beginning of 1970.

use std::fmt::Write as _;

/// A unit of time and a factor: a stored 3 of the type `m8[25us]` means 75 microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    scale: Scale,
    factor: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Generic,
    Year,
    Month,
    Week,
    Day,
    /// A unit that divides a day in equal parts.
    Part(&'static DayUnit),
}

#[derive(Debug, PartialEq)]
struct DayUnit {
    name: &'static str,
    /// The number of units in a day.
    per_day: i128,
    /// The part of the time of day that a date of this unit shows.
    shows: Shows,
}

#[derive(Debug, PartialEq)]
enum Shows {
    Hours,
    Minutes,
    Seconds,
    /// Seconds, and this number of digits of their fraction.
    Fraction(usize),
}

const SECONDS: i128 = 86_400;

static PARTS: [DayUnit; 10] = [
    DayUnit { name: "h", per_day: 24, shows: Shows::Hours },
    DayUnit { name: "m", per_day: 1440, shows: Shows::Minutes },
    DayUnit { name: "s", per_day: SECONDS, shows: Shows::Seconds },
    DayUnit { name: "ms", per_day: SECONDS * 1_000, shows: Shows::Fraction(3) },
    DayUnit { name: "us", per_day: SECONDS * 1_000_000, shows: Shows::Fraction(6) },
    DayUnit { name: "μs", per_day: SECONDS * 1_000_000, shows: Shows::Fraction(6) },
    DayUnit { name: "ns", per_day: SECONDS * 1_000_000_000, shows: Shows::Fraction(9) },
    DayUnit { name: "ps", per_day: SECONDS * 1_000_000_000_000, shows: Shows::Fraction(12) },
    DayUnit { name: "fs", per_day: SECONDS * 1_000_000_000_000_000, shows: Shows::Fraction(15) },
    DayUnit {
        name: "as",
        per_day: SECONDS * 1_000_000_000_000_000_000,
        shows: Shows::Fraction(18),
    },
];

impl Unit {
    /// Parses what follows the letter of the type: 8, and perhaps a factor and the unit in brackets, as in `8[25us]`. Returns
    /// `None` if the text has another form, the unit is unknown, or the factor exceeds 64 bits.
    pub(super) fn parse(rest: &str) -> Option<Self> {
        let unit = rest.strip_prefix('8')?;
        if unit.is_empty() {
            return Some(Self { scale: Scale::Generic, factor: 1 });
        }
        let unit = unit.strip_prefix('[')?.strip_suffix(']')?;
        let name = unit.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = unit.strip_suffix(name)?;
        let factor = if digits.is_empty() { 1 } else { digits.parse().ok()? };
        let scale = match name {
            "generic" => Scale::Generic,
            "Y" => Scale::Year,
            "M" => Scale::Month,
            "W" => Scale::Week,
            "D" => Scale::Day,
            _ => Scale::Part(PARTS.iter().find(|part| part.name == name)?),
        };
        Some(Self { scale, factor })
    }

    fn name(self) -> &'static str {
        match self.scale {
            Scale::Generic => "",
            Scale::Year => "Y",
            Scale::Month => "M",
            Scale::Week => "W",
            Scale::Day => "D",
            Scale::Part(part) => part.name,
        }
    }

    /// Returns `count` times the factor; `None` for the smallest count, which NumPy uses for "not a time" (`NaT`).
    fn units(self, count: i64) -> Option<i128> {
        // A product of 64 bits each fits in 128 bits.
        (count != i64::MIN).then(|| i128::from(count).saturating_mul(self.factor.into()))
    }
}

/// Formats a duration of `count` times `unit` as the number of units (`count` times the factor of `unit`) and the unit's name,
/// which a generic unit lacks. NumPy's missing value is `NaT`.
pub(super) fn duration(count: i64, unit: Unit) -> String {
    match unit.units(count) {
        None => "NaT".to_owned(),
        Some(units) if unit.scale == Scale::Generic => units.to_string(),
        Some(units) => format!("{units} {}", unit.name()),
    }
}

/// Returns a date as NumPy prints it: in the form of ISO 8601, as exact as the unit. A date in a generic unit is a plain number,
/// and NumPy's missing value is `NaT`. Only negative years have more digits than those of NumPy.
pub(super) fn date(count: i64, unit: Unit) -> String {
    let Some(units) = unit.units(count) else { return "NaT".to_owned() };
    match unit.scale {
        Scale::Generic => units.to_string(),
        Scale::Year => year(units.saturating_add(1970)),
        Scale::Month => {
            let month = units.rem_euclid(12).saturating_add(1);
            format!("{}-{month:02}", year(units.div_euclid(12).saturating_add(1970)))
        }
        Scale::Week => day(units.saturating_mul(7)),
        Scale::Day => day(units),
        Scale::Part(part) => {
            let days = units.div_euclid(part.per_day);
            let within = units.rem_euclid(part.per_day);
            let of = |per_day: i128| {
                let one = part.per_day.checked_div(per_day).unwrap_or(1);
                within.checked_div(one).unwrap_or_default()
            };
            let hours = of(24);
            let mut text = format!("{}T{hours:02}", day(days));
            // Writing into a string cannot fail.
            if part.shows != Shows::Hours {
                let _ = write!(text, ":{:02}", of(1440).rem_euclid(60));
            }
            if matches!(part.shows, Shows::Seconds | Shows::Fraction(_)) {
                let _ = write!(text, ":{:02}", of(SECONDS).rem_euclid(60));
            }
            if let Shows::Fraction(digits) = part.shows {
                let second = part.per_day.checked_div(SECONDS).unwrap_or(1);
                let fraction = within.checked_rem(second).unwrap_or_default();
                let _ = write!(text, ".{fraction:0digits$}");
            }
            text
        }
    }
}

/// Returns a year in at least four digits.
fn year(year: i128) -> String {
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}", year.unsigned_abs())
}

/// Returns the date that is `days` after the first of January 1970, in the Gregorian calendar.
fn day(days: i128) -> String {
    // Years begin in March here, so that the leap day is the last day of a year, and eras of 400 years begin in March of year 0.
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leap_days = of_era / 1460 - of_era / 36_524 + of_era / 146_096;
    let of_era_year = (of_era - leap_days) / 365;
    let of_year = of_era - (365 * of_era_year + of_era_year / 4 - of_era_year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let (month, next) = if from_march < 10 { (from_march + 3, 0) } else { (from_march - 9, 1) };
    let whole = era.saturating_mul(400).saturating_add(of_era_year + next);
    format!("{}-{month:02}-{of_month:02}", year(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks dates against the texts of NumPy 2. Only negative years differ: this module prints at least four digits, and
    /// NumPy three.
    #[test]
    fn dates() {
        for (unit, count, wanted) in [
            ("8[Y]", 50, "2020"),
            ("8[Y]", -1970, "0000"),
            ("8[Y]", -2000, "-0030"),
            ("8[M]", -1, "1969-12"),
            ("8[W]", 1, "1970-01-08"),
            ("8[D]", 0, "1970-01-01"),
            ("8[D]", -1, "1969-12-31"),
            ("8[D]", 11_016, "2000-02-29"),
            ("8[D]", 11_017, "2000-03-01"),
            ("8[D]", -25_509, "1900-02-28"),
            ("8[D]", -25_508, "1900-03-01"),
            ("8[D]", 2_932_897, "10000-01-01"),
            ("8[D]", -719_529, "-0001-12-31"),
            ("8[h]", 25, "1970-01-02T01"),
            ("8[m]", -1, "1969-12-31T23:59"),
            ("8[s]", 86_399, "1970-01-01T23:59:59"),
            ("8[ms]", -1, "1969-12-31T23:59:59.999"),
            ("8[25us]", 1, "1970-01-01T00:00:00.000025"),
            ("8[ns]", i64::MAX, "2262-04-11T23:47:16.854775807"),
            ("8[as]", 1, "1970-01-01T00:00:00.000000000000000001"),
            ("8", 5, "5"),
            ("8[generic]", 5, "5"),
            ("8[ns]", i64::MIN, "NaT"),
        ] {
            assert_eq!(date(count, Unit::parse(unit).unwrap()), wanted, "{unit} {count}");
        }
        // The largest counts and factors do not overflow.
        for unit in ["8[18446744073709551615W]", "8[18446744073709551615as]", "8[Y]"] {
            for count in [i64::MAX, i64::MIN + 1] {
                assert!(date(count, Unit::parse(unit).unwrap()).len() > 4);
            }
        }
        for wrong in ["4", "8[", "8[x]", "8[2]", "8[18446744073709551616s]"] {
            assert_eq!(Unit::parse(wrong), None, "{wrong}");
        }
    }
}
