//! What the elements of a component are like, in one pass.

use std::io::{self, Write};

use zten::Error;
use zten::tools::StorageType;

use crate::element::Kind;
use crate::histogram::Histogram;
use crate::json::Json;
use crate::problem;
use crate::session::{self, File};
use crate::widen::{unsigned, widen};

/// What has been seen of the elements so far.
#[derive(Debug, Default)]
struct Seen {
    elements: u64,
    zeros: u64,
    nans: u64,
    infinities: u64,
    spread: Spread,
    /// Of the finite ones.
    least: Option<f64>,
    most: Option<f64>,
    histogram: Histogram,
}

impl Seen {
    fn add(&mut self, numbers: &[f64]) {
        self.spread.add(numbers);
        for number in numbers.iter().copied() {
            self.zeros = self.zeros.saturating_add(u64::from(number == 0.0));
            if number.is_finite() {
                self.least = Some(self.least.map_or(number, |least| least.min(number)));
                self.most = Some(self.most.map_or(number, |most| most.max(number)));
                self.histogram.count(number);
            } else if number.is_nan() {
                self.nans = self.nans.saturating_add(1);
            } else {
                self.infinities = self.infinities.saturating_add(1);
            }
        }
        let count = u64::try_from(numbers.len()).unwrap_or_default();
        self.elements = self.elements.saturating_add(count);
    }
}

/// The mean of finite numbers, and the sum of the squares of how far they are from it.
#[derive(Debug, Default)]
struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    /// Takes a chunk: its own mean is found first, so that large numbers that differ by little lose nothing.
    fn add(&mut self, numbers: &[f64]) {
        let finite = || numbers.iter().copied().filter(|number| number.is_finite());
        let count = unsigned(u64::try_from(finite().count()).unwrap_or_default());
        if count == 0.0 {
            return;
        }
        let mean = finite().sum::<f64>() / count;
        let squares: f64 = finite().map(|number| (number - mean) * (number - mean)).sum();
        let (all, far) = (self.count + count, mean - self.mean);
        self.squares += squares + far * far * self.count * count / all;
        self.mean += far * count / all;
        self.count = all;
    }

    /// The mean and the standard deviation, of all numbers and not of a sample; none of no numbers.
    fn of_all(&self) -> Option<(f64, f64)> {
        (self.count > 0.0).then(|| (self.mean, (self.squares / self.count).sqrt()))
    }
}

/// The least and the greatest of 64-bit integers, which `f64` would round.
#[derive(Debug, Default)]
struct Whole(Option<(i128, i128)>);

impl Whole {
    fn add(&mut self, kind: Kind, bytes: &[u8]) {
        let wide: fn([u8; 8]) -> i128 = match kind {
            Kind::Plain(StorageType::I64) => |bytes| i64::from_le_bytes(bytes).into(),
            Kind::Plain(StorageType::U64) => |bytes| u64::from_le_bytes(bytes).into(),
            _ => return,
        };
        for number in bytes.as_chunks::<8>().0.iter().map(|bytes| wide(*bytes)) {
            let (least, most) = self.0.unwrap_or((number, number));
            self.0 = Some((least.min(number), most.max(number)));
        }
    }
}

/// Reads one component to its end and says what its elements are like.
pub fn component(file: &File, place: (u32, u32), out: &mut impl Write) -> io::Result<()> {
    match read(file, place) {
        Ok((kind, seen, whole)) => document(kind, &seen, &whole, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn read(file: &File, place: (u32, u32)) -> Result<(Kind, Seen, Whole), Error> {
    let component = session::component(file, place)?;
    let mut reader = component.reader()?;
    // What is readable has a kind.
    let kind = Kind::of_component(&component).unwrap_or(Kind::Plain(StorageType::U8));
    let (mut seen, mut whole, mut numbers) = (Seen::default(), Whole::default(), Vec::new());
    while let Some(chunk) = reader.next_chunk()? {
        numbers.clear();
        widen(kind, chunk, &mut numbers);
        seen.add(&numbers);
        whole.add(kind, chunk);
    }
    Ok((kind, seen, whole))
}

fn document(kind: Kind, seen: &Seen, whole: &Whole, out: &mut impl Write) -> io::Result<()> {
    let mut json = Json::new(out);
    json.open('{')?;
    for (key, number) in [
        ("elements", seen.elements),
        ("zeros", seen.zeros),
        ("nans", seen.nans),
        ("infinities", seen.infinities),
    ] {
        json.key(key)?;
        json.plain(number)?;
    }
    let (least, most) = match whole.0 {
        Some((least, most)) => (Some(least.to_string()), Some(most.to_string())),
        None => (seen.least.map(|n| spelled(kind, n)), seen.most.map(|n| spelled(kind, n))),
    };
    for (key, text) in [("min", least), ("max", most)] {
        json.key(key)?;
        json.string_or_null(text.as_deref())?;
    }
    let (mean, deviation) = seen.spread.of_all().unzip();
    for (key, number) in [("mean", mean), ("deviation", deviation)] {
        json.key(key)?;
        match number.filter(|number| number.is_finite()) {
            Some(number) => json.plain(format_args!("{number:?}"))?,
            None => json.null()?,
        }
    }
    json.key("magnitude")?;
    json.plain(matches!(kind, Kind::Complex(_)))?;
    json.key("histogram")?;
    match seen.histogram.intervals() {
        None => json.null()?,
        Some((width, start, counts)) => {
            json.open('{')?;
            for (key, number) in [("width", width), ("start", start)] {
                json.key(key)?;
                json.plain(format_args!("{number:?}"))?;
            }
            json.key("counts")?;
            json.open('[')?;
            for count in counts {
                json.plain(count)?;
            }
            json.close(']')?;
            json.close('}')?;
        }
    }
    json.close('}')
}

/// A number with as many digits as tell it from its neighbours in its own type.
#[expect(clippy::cast_possible_truncation, reason = "it came from an f32 or narrower")]
fn spelled(kind: Kind, number: f64) -> String {
    use StorageType as T;
    match kind {
        Kind::Plain(T::F32 | T::F16 | T::Bf16) | Kind::Fp8(_) => format!("{:?}", number as f32),
        Kind::Plain(T::F64) | Kind::Complex(_) => format!("{number:?}"),
        Kind::Plain(_) => format!("{number}"),
    }
}
