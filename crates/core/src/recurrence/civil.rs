//! Calendar arithmetic without range limits, because a local time can exceed the end of the year 9999.

pub(super) const DAY: i64 = 86_400;

/// A month of a year; months count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Month {
    pub(super) year: i64,
    pub(super) month: u8,
}

/// The month and the day of the month of a day since 1970-01-01.
///
/// Years start in March here, so that the leap day is the last day of a year; 400 such years have 146,097
/// days.
pub(super) fn month_of(day: i64) -> (Month, u8) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let of_era_year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_era_year + of_era_year / 4 - of_era_year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + of_era_year + i64::from(month <= 2);
    let small = |number: i64| u8::try_from(number).unwrap_or(1);
    let month = Month {
        year,
        month: small(month),
    };
    (month, small(day))
}

impl Month {
    /// The first day of the month, as a day since 1970-01-01.
    pub(super) fn first_day(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, of_era_year) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = (i64::from(self.month) + 9) % 12;
        let of_year = (153 * from_march + 2) / 5;
        let of_era = of_era_year * 365 + of_era_year / 4 - of_era_year / 100 + of_year;
        era * 146_097 + of_era - 719_468
    }

    /// The number of days in the month.
    pub(super) const fn len(self) -> u8 {
        match self.month {
            2 if self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    pub(super) const fn following(self) -> Self {
        match self.month {
            12 => Self {
                year: self.year + 1,
                month: 1,
            },
            month => Self {
                year: self.year,
                month: month + 1,
            },
        }
    }

    pub(super) const fn preceding(self) -> Self {
        match self.month {
            1 => Self {
                year: self.year - 1,
                month: 12,
            },
            month => Self {
                year: self.year,
                month: month - 1,
            },
        }
    }
}

/// The day of the week; Sunday is 0.
pub(super) fn weekday(day: i64) -> u8 {
    // 1970-01-01 was a Thursday.
    u8::try_from((day + 4).rem_euclid(7)).unwrap_or(0)
}
