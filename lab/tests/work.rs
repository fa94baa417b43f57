//! Checks that the cost of a file is linear in its bytes, and that the cost of a byte is bounded.
//!
//! `cargo test --release --test work -- --nocapture` prints the table.
#![allow(clippy::allow_attributes, clippy::cast_precision_loss, reason = "numbers are small")]

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zten_lab::proof::count::counting;
use zten_lab::proof::files::{self, Call, Generator, Made};
use zten_lab::proof::guest;
use zten_lab::proof::machine::Maker;

/// The number of times that the bytes are doubled.
const STEPS: u32 = 3;
/// The largest factor by which the work may grow when the bytes are doubled.
const TWICE: f64 = 2.2;

/// The measured work of one call on one kind of file, at several sizes of the file.
struct Row {
    name: &'static str,
    call: Call,
    ceiling: u64,
    /// For each size of the file, the number of bytes and the number of executed instructions. The bytes are those of
    /// the file, and of its decoded content unless the call only opens the file.
    sizes: Vec<(u64, u64)>,
    failed: Option<String>,
}

impl Row {
    fn per_byte(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.sizes.iter().map(|(bytes, work)| *work as f64 / *bytes as f64)
    }

    /// Returns the largest factor by which the work grows from one size to the next, scaled to twice the bytes.
    fn ratio(&self) -> f64 {
        let each: Vec<f64> = self.per_byte().collect();
        each.windows(2).map(|pair| 2.0 * pair[1] / pair[0]).fold(0.0, f64::max)
    }

    /// Returns the entry that `lab/results/work-bound.md` must have for this row: without measured figures,
    /// which depend on the compiler.
    fn listed(&self) -> String {
        format!("{}, {}: {}", self.name, self.call.name(), self.ceiling)
    }

    /// Returns a description of the first bound that the row does not keep: the call traps or has another outcome than expected,
    /// twice the bytes take more than [`TWICE`] times the work, or a byte takes more instructions than the ceiling. Returns `None`
    /// if all are kept.
    fn broken(&self) -> Option<String> {
        let ceiling = self.per_byte().fold(0.0, f64::max);
        if let Some(failed) = &self.failed {
            Some(failed.clone())
        } else if self.ratio() > TWICE {
            Some(format!("twice the bytes are {:.2} times the work", self.ratio()))
        } else if ceiling > self.ceiling as f64 {
            Some(format!("{ceiling:.1} instructions a byte, of {} at most", self.ceiling))
        } else {
            None
        }
    }
}

fn measure(maker: &Maker, generator: &Generator) -> Vec<Row> {
    let row = |wanted: &files::Wanted| Row {
        name: generator.name,
        call: wanted.call,
        ceiling: wanted.ceiling,
        sizes: Vec::new(),
        failed: None,
    };
    let mut rows: Vec<Row> = generator.wanted.iter().map(row).collect();
    for step in 0..=STEPS {
        let Made { file, decoded } = (generator.make)(generator.from << 10 << step);
        for (row, wanted) in rows.iter_mut().zip(&generator.wanted) {
            // Each call gets a new machine, because memory that an earlier call has allocated is cheaper to use.
            let mut machine = maker.machine().expect("a guest that asks for nothing");
            machine.file(&file).expect("room");
            let (name, canonical) = wanted.call.guest();
            let opening = matches!(wanted.call, Call::Open | Call::OpenCanonical);
            let bytes = file.len() as u64 + if opening { 0 } else { decoded };
            match machine.call(name, canonical) {
                Ok(outcome) if outcome.rule == wanted.rule => row.sizes.push((bytes, outcome.work)),
                Ok(outcome) => row.failed = Some(format!("it came to {:?}", outcome.rule)),
                Err(trap) => row.failed = Some(trap.to_string()),
            }
        }
    }
    rows
}

#[test]
fn work_is_bounded() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let module = guest::module(folder, "").expect("the guest");
    let module = counting(&std::fs::read(module).expect("the guest")).expect("a module");
    let maker = Maker::new(&module).expect("a module");

    let generators = files::all();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(generator) = generators.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let measured = measure(&maker, generator);
                    rows.lock().expect("no panic").extend(measured);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no panic");
    rows.sort_by_key(|row| generators.iter().position(|generator| generator.name == row.name));

    println!(
        "| file | call | KiB, the smallest | instructions a byte, at each size | \
         twice the bytes, at most | ceiling |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for row in &rows {
        let from = row.sizes.first().map_or(0, |(bytes, _)| bytes >> 10);
        let each: Vec<String> = row.per_byte().map(|each| format!("{each:.1}")).collect();
        println!(
            "| {} | {} | {from} | {} | {:.2} | {} |",
            row.name,
            row.call.name(),
            each.join(", "),
            row.ratio(),
            row.ceiling
        );
    }
    let broken: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{}, {}: {}", row.name, row.call.name(), row.broken()?)))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let listed: Vec<String> = rows.iter().map(Row::listed).collect();
    assert!(documented() == listed, "lab/results/work-bound.md has other rows: {listed:#?}");
}

/// Returns the rows of the document: file, call and ceiling. The other columns depend on the compiler.
fn documented() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/work-bound.md");
    let document = std::fs::read_to_string(path).expect("the document");
    let rows = document.lines().filter(|line| line.starts_with("| ")).skip(2);
    let cells = |row: &str| row.split('|').map(str::trim).map(str::to_owned).collect();
    let cells = rows.map(cells);
    cells.map(|cells: Vec<String>| format!("{}, {}: {}", cells[1], cells[2], cells[6])).collect()
}
