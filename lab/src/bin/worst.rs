//! Searches for the manifests that cost most to open, under the instruction counter.
//!
//! `worst --minutes 60` climbs: of each kind, and for each way in which the library is built, a
//! description is changed at random and kept where a byte costs no less than before; now and then it
//! begins anew. What is worse than all before of its kind is printed. `--seed 7` begins with another
//! number, and `--kind attributes` searches one kind. `worst --show 'items depth=61 kib=32'` measures
//! one description.
#![allow(clippy::allow_attributes, clippy::cast_precision_loss, reason = "numbers are small")]

use std::env::args;
use std::error::Error;
use std::io;
use std::slice;
use std::time::{Duration, Instant};

use fastrand::Rng;
use zten_lab::proof::count::counting;
use zten_lab::proof::files;
use zten_lab::proof::guest;
use zten_lab::proof::machine::Maker;
use zten_lab::proof::search::{Description, KINDS, Kind};
use zten_testkit::process::target_folder;

/// Features of the guest: as the proof has it, and with the seeds of a process.
const BUILDS: [&str; 2] = ["", "std"];
/// The row of the proof that is an ordinary manifest, and its size in bytes.
const ORDINARY: (&str, usize) = ("names sorted", 64 << 10);
/// The number of steps without an improvement after which a climb starts anew.
const PATIENCE: u32 = 150;

/// The cost of the file of a description, and its verdict.
struct Measured {
    /// Instructions a byte.
    cost: f64,
    /// The rule that the file breaks, if it breaks one.
    rule: String,
}

/// A build of the library.
struct Variant {
    name: &'static str,
    maker: Maker,
    /// The cost of an ordinary manifest, in instructions a byte.
    ordinary: f64,
}

impl Variant {
    fn new(features: &'static str) -> Result<Self, Box<dyn Error>> {
        let folder = target_folder()?.join("worst").join(features.replace(',', "-"));
        let built = guest::module(&folder, features)?;
        let module = counting(&std::fs::read(built)?)?;
        let name = if features.is_empty() { "no features" } else { features };
        let mut variant = Self { name, maker: Maker::new(&module)?, ordinary: 1.0 };
        let (row, size) = ORDINARY;
        let row = files::all().into_iter().find(|kind| kind.name == row).ok_or("no such row")?;
        variant.ordinary = variant.measure(&(row.make)(size).file).cost;
        Ok(variant)
    }

    fn measure(&self, file: &[u8]) -> Measured {
        let mut machine = self.maker.machine().expect("a guest that asks for nothing");
        machine.file(file).expect("room");
        let outcome = machine.call("open", false).expect("no panic");
        Measured { cost: outcome.work as f64 / file.len() as f64, rule: outcome.rule }
    }
}

/// A search among files of one kind, opened by one build.
struct Climb<'v> {
    kind: Kind,
    variant: &'v Variant,
    here: Option<(Description, f64)>,
    /// Steps since it last went up.
    waited: u32,
    worst: Option<(Description, Measured)>,
}

impl Climb<'_> {
    fn step(&mut self, rng: &mut Rng) {
        if self.waited > PATIENCE {
            (self.here, self.waited) = (None, 0);
            // Half of the new climbs begin beside the worst.
            if let (Some((worst, measured)), true) = (&self.worst, rng.bool()) {
                self.here = Some((worst.clone(), measured.cost));
            }
        }
        let next = match &self.here {
            Some((here, _)) => here.changed(rng),
            None => self.kind.any(rng),
        };
        let measured = self.variant.measure(&next.file());
        let before = self.here.as_ref().map_or(0.0, |(_, cost)| *cost);
        self.waited = if measured.cost > before * 1.001 { 0 } else { self.waited + 1 };
        if measured.cost >= before {
            self.here = Some((next.clone(), measured.cost));
        }
        let worst = self.worst.as_ref().map_or(0.0, |(_, worst)| worst.cost);
        if measured.cost > worst {
            self.worst = Some((next, measured));
            if self.worst.as_ref().is_some_and(|(_, found)| found.cost > worst * 1.02) {
                println!("{}", self.found());
            }
        }
    }

    fn found(&self) -> String {
        match &self.worst {
            Some((description, measured)) => line(self.variant, description, measured),
            None => format!("{}: nothing", self.kind.name()),
        }
    }
}

fn line(
    variant: &Variant,
    description: &Description,
    Measured { cost, rule }: &Measured,
) -> String {
    let times = cost / variant.ordinary;
    let rule = if rule.is_empty() { "valid" } else { rule };
    format!("{cost:.1} a byte, {times:.1} x, {rule}, {}: {description}", variant.name)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args().skip(1);
    let (mut minutes, mut seed, mut only, mut shown) = (60, 1, None, None);
    while let (Some(name), value) = (arguments.next(), arguments.next().unwrap_or_default()) {
        match name.as_str() {
            "--minutes" => minutes = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--kind" => only = Some(Kind::named(&value)?),
            "--show" => shown = Some(value.parse::<Description>()?),
            _ => return Err(io::Error::other(format!("{name} is no option")).into()),
        }
    }
    let variants: Vec<Variant> = BUILDS.into_iter().map(Variant::new).collect::<Result<_, _>>()?;
    if let Some(description) = shown {
        let file = description.file();
        for variant in &variants {
            println!("{}", line(variant, &description, &variant.measure(&file)));
        }
        return Ok(());
    }
    let kinds = only.as_ref().map_or(KINDS, slice::from_ref);
    search(&variants, kinds, Duration::from_secs(60 * minutes), seed);
    Ok(())
}

fn search(variants: &[Variant], kinds: &[Kind], time: Duration, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let climb = |kind: &Kind, variant| {
        let kind = *kind;
        Climb { kind, variant, here: None, waited: 0, worst: None }
    };
    let mut climbs: Vec<Climb> = kinds
        .iter()
        .flat_map(|kind| variants.iter().map(move |variant| climb(kind, variant)))
        .collect();
    let (began, mut run) = (Instant::now(), 0_u64);
    while began.elapsed() < time && !climbs.is_empty() {
        for climb in &mut climbs {
            climb.step(&mut rng);
            run += 1;
        }
    }
    println!("\nSeed {seed}: {run} files in {} s.", began.elapsed().as_secs());
    for climb in &climbs {
        println!("{}", climb.found());
    }
}
