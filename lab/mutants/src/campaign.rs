//! Each mutant meets the tests that reach it, until one sees it.

use std::time::Duration;

use anyhow::Result;

use crate::edits::Number;
use crate::outcome::Outcome;
use crate::test::{End, Test};

/// The tests, with what they have seen so far.
pub(crate) struct Campaign<'t> {
    tests: &'t [Test],
    seen: Vec<Seen>,
}

/// How often a test ran with a mutant, and how often it saw one.
#[derive(Clone, Copy, Default)]
struct Seen {
    ran: u32,
    saw: u32,
}

impl Seen {
    /// What a mutant costs that is seen by a test of that cost: the test, as often as it runs for one.
    fn price(self, cost: Duration) -> f64 {
        (cost.as_secs_f64() + 0.005) * f64::from(self.ran + 2) / f64::from(self.saw + 1)
    }
}

impl<'t> Campaign<'t> {
    pub(crate) fn new(tests: &'t [Test]) -> Self {
        Self { tests, seen: vec![Seen::default(); tests.len()] }
    }

    /// What comes of a mutant, and which test saw it.
    ///
    /// Those that cost least for what they see come first.
    pub(crate) fn meet(&mut self, number: Number) -> Result<(Outcome, Option<String>)> {
        let mut order: Vec<_> = self.tests.iter().zip(&mut self.seen).collect();
        order.retain(|(test, _)| test.reaches(number));
        order.sort_by(|(one, seen), (other, also)| {
            seen.price(one.cost).total_cmp(&also.price(other.cost))
        });
        for (test, seen) in order {
            let end = test.run(number)?;
            seen.ran += 1;
            if end == End::Passed {
                continue;
            }
            seen.saw += 1;
            let outcome = if end == End::Late { Outcome::Timeout } else { Outcome::Caught };
            return Ok((outcome, Some(test.name())));
        }
        Ok((Outcome::Missed, None))
    }
}
