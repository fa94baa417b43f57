//! Computes statistics and a histogram of the elements of a component in one pass.

use std::io::{self, Write};

use serde::Serialize;
use zten::Error;
use zten::element::StorageType;
use zten::json::to_writer;
use zten_report::statistics::Statistics;

use super::histogram::Histogram;
use crate::problem;
use crate::session::{self, File};
use zten::number::NumberKind;

/// The exact minimum and maximum of 64-bit integers, which `f64` would round.
#[derive(Debug, Default)]
struct Whole(Option<(i128, i128)>);

impl Whole {
    fn add(&mut self, kind: NumberKind, bytes: &[u8]) {
        let wide: fn([u8; 8]) -> i128 = match kind {
            NumberKind::Plain(StorageType::I64) => |bytes| i64::from_le_bytes(bytes).into(),
            NumberKind::Plain(StorageType::U64) => |bytes| u64::from_le_bytes(bytes).into(),
            _ => return,
        };
        for number in bytes.as_chunks::<8>().0.iter().map(|bytes| wide(*bytes)) {
            let (least, most) = self.0.unwrap_or((number, number));
            self.0 = Some((least.min(number), most.max(number)));
        }
    }
}

/// The statistics of the elements that have been read so far, and their histogram.
struct Seen {
    kind: NumberKind,
    statistics: Statistics,
    histogram: Histogram,
    whole: Whole,
}

/// Reads the component at `place`, the ordinals of object and component, and writes its statistics to `out`.
pub fn component(file: &File, place: (u32, u32), out: &mut impl Write) -> io::Result<()> {
    match read(file, place) {
        Ok(seen) => document(&seen, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn read(file: &File, place: (u32, u32)) -> Result<Seen, Error> {
    let component = session::component(file, place)?;
    let mut reader = component.reader()?;
    // A component that can be read has elements of a known kind, so the default is never used.
    let kind = NumberKind::of_component(&component).unwrap_or(NumberKind::Plain(StorageType::U8));
    let (mut statistics, mut histogram) = (Statistics::default(), Histogram::default());
    let (mut whole, mut numbers) = (Whole::default(), Vec::new());
    while let Some(chunk) = reader.next_chunk()? {
        numbers.clear();
        kind.values(chunk, &mut numbers);
        statistics.add(&numbers);
        let finite = numbers.iter().filter(|number| number.is_finite());
        finite.for_each(|number| histogram.count(*number));
        whole.add(kind, chunk);
    }
    Ok(Seen { kind, statistics, histogram, whole })
}

fn document(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        statistics: &'a Statistics,
        /// The smallest element, in as many digits as tell it from other elements of its type.
        min: Option<String>,
        max: Option<String>,
        magnitude: bool,
        histogram: Option<Intervals<'a>>,
    }
    #[derive(Serialize)]
    struct Intervals<'a> {
        width: f64,
        start: f64,
        counts: &'a [u64],
    }
    let Seen { kind, statistics, histogram, whole } = seen;
    let number = |value: f64| kind.number(value).to_string();
    let (min, max) = match whole.0 {
        Some((min, max)) => (Some(min.to_string()), Some(max.to_string())),
        None => (statistics.min.map(number), statistics.max.map(number)),
    };
    let intervals = histogram.intervals();
    let document = Document {
        statistics,
        min,
        max,
        magnitude: matches!(kind, NumberKind::Complex(_)),
        histogram: intervals.map(|(width, start, counts)| Intervals { width, start, counts }),
    };
    to_writer(out, &document)
}
