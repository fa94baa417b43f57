//! Builds all images, runs them, and says what they take: `cargo run`. Ends 1 if anything is not as
//! it should be.

use std::process::ExitCode;

use zten_firmware::image::Image;
use zten_firmware::printed::Printed;
use zten_firmware::{Result, ceilings, emulator, image, judge, network};

/// What an image is held to.
type Judge = fn(&Printed) -> Result<()>;

/// Image, features, and what it is held to.
const IMAGES: [(&str, &str, Judge); 7] = [
    ("empty", "", |_| Ok(())),
    ("list", "", |printed| judge::objects(printed, "digits.zt")),
    ("model", "digest,messages", judge::digits),
    ("model", "digest,messages,zstd", judge::digits),
    ("spi", "digest,messages", |printed| spi(printed, "digits.zt")),
    ("spi", "digest,messages,zstd", |printed| spi(printed, "digits-zstd.zt")),
    ("hostile", "messages", judge::refused),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    network::check()?;
    let mut flash = Vec::new();
    let mut table = String::new();
    for (name, features, judged) in IMAGES {
        println!("--- {name} {features}");
        let image = image::build(name, features)?;
        let rows =
            outcome(&image, judged).and_then(|printed| row(name, features, &image, &printed));
        table += &rows.map_err(|error| format!("{name} ({features}): {error}"))?;
        flash.push(image.flash);
    }
    println!(
        "| image | features | flash | heap | stack |\n| --- | --- | --- | --- | --- |\n{table}"
    );
    let [empty, list, ..] = *flash.as_slice() else { return Err("no images".into()) };
    let opening = list - empty;
    println!("opening, listing and binding: {opening} bytes of flash");
    at_most("flash of opening, listing and binding", opening, ceilings::FLASH)
}

/// Runs an image: what it prints, if that is what it should.
fn outcome(image: &Image, judged: Judge) -> Result<Printed> {
    let text = emulator::run(&image.path)?;
    println!("{text}");
    let printed = Printed::read(&text)?;
    judged(&printed)?;
    Ok(printed)
}

/// The row of an image in the table, if it keeps below the ceilings.
fn row(name: &str, features: &str, image: &Image, printed: &Printed) -> Result<String> {
    let flash = image.flash;
    let (heap, stack) = match (printed.heap, printed.stack) {
        (Some(heap), Some(stack)) => (heap, stack),
        // They cannot print numbers.
        _ if features.is_empty() => return Ok(format!("| `{name}` | | {flash} | | |\n")),
        _ => return Err("it does not say what it has taken".into()),
    };
    let most = if features.contains("zstd") { ceilings::HEAP_ZSTD } else { ceilings::HEAP };
    at_most("heap", heap, most)?;
    at_most("stack", stack, ceilings::STACK)?;
    Ok(format!("| `{name}` | {features} | {flash} | {heap} | {stack} |\n"))
}

fn at_most(what: &str, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(format!("{what}: {bytes} bytes, and at most {most} are allowed").into())
}

/// The model behind a bus: lists the same, says the same, and hardly reads a byte twice.
fn spi(printed: &Printed, file: &str) -> Result<()> {
    judge::objects(printed, file)?;
    judge::digits(printed)?;
    let size = std::fs::metadata(zten_firmware::path("network").join(file))?.len();
    let [_, (_, _, read)] = printed.reads.as_slice() else {
        return Err("it does not say what it has read".into());
    };
    at_most("bytes read", *read, size * ceilings::READS / 100)
}
