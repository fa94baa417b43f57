//! Builds all images, runs them, and says what they take: `cargo run`. Ends 1 if anything is not as
//! it should be.

use std::path::PathBuf;
use std::process::ExitCode;

use zten_firmware::image::Image;
use zten_firmware::printed::Printed;
use zten_firmware::{Result, ceilings, emulator, image, path, validate};

/// What an image is held to.
type Validate = fn(&Printed) -> Result<()>;

/// Image, features, and what it is held to.
const IMAGES: [(&str, &str, Validate); 14] = [
    ("empty", "v0,v1", |_| Ok(())),
    ("list", "v0,v1", |printed| validate::objects(printed, &network("digits.zt"))),
    ("empty", "v1", |_| Ok(())),
    ("list", "v1", |printed| validate::objects(printed, &network("digits.zt"))),
    ("empty", "v0", |_| Ok(())),
    ("list", "v0", |printed| validate::objects(printed, &path(V0))),
    ("empty", "v2", |_| Ok(())),
    ("list", "v2", |printed| validate::objects(printed, &network("digits-2.zt"))),
    ("model", "v2,digest,messages", validate::digits),
    ("model", "v0,v1,digest,messages", validate::digits),
    ("model", "v0,v1,digest,messages,zstd", validate::digits),
    ("spi", "v0,v1,digest,messages", |printed| spi(printed, "digits.zt")),
    ("spi", "v0,v1,digest,messages,zstd", |printed| spi(printed, "digits-zstd.zt")),
    ("hostile", "v0,v1,messages", validate::refused),
];

/// The file of the images that read generation 0.1 alone.
const V0: &str = "../corpus/accept/0.1.0/dense_all.zt";

fn network(file: &str) -> PathBuf {
    path("network").join(file)
}

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
    zten_firmware::network::check()?;
    let mut flash = Vec::new();
    let mut table = String::new();
    for (name, features, validated) in IMAGES {
        println!("--- {name} {features}");
        let image = image::build(name, features)?;
        let rows =
            outcome(&image, validated).and_then(|printed| row(name, features, &image, &printed));
        table += &rows.map_err(|error| format!("{name} ({features}): {error}"))?;
        flash.push(image.flash);
    }
    println!(
        "| image | features | flash | heap | stack |\n| --- | --- | --- | --- | --- |\n{table}"
    );
    let pairs = flash.chunks_exact(2).zip(ceilings::FLASH);
    for (images, (generations, most)) in pairs {
        let [empty, list] = *images else { return Err("no images".into()) };
        let opening = list - empty;
        println!("opening, listing and binding {generations}: {opening} bytes of flash");
        at_most("flash of opening, listing and binding", opening, most)?;
    }
    Ok(())
}

/// Runs an image: what it prints, if that is what it should.
fn outcome(image: &Image, validated: Validate) -> Result<Printed> {
    let text = emulator::run(&image.path)?;
    println!("{text}");
    let printed = Printed::read(&text)?;
    validated(&printed)?;
    Ok(printed)
}

/// The row of an image in the table, if it keeps below the ceilings.
fn row(name: &str, features: &str, image: &Image, printed: &Printed) -> Result<String> {
    let flash = image.flash;
    let (heap, stack) = match (printed.heap, printed.stack) {
        (Some(heap), Some(stack)) => (heap, stack),
        // They cannot print numbers.
        _ if !features.contains("messages") => {
            return Ok(format!("| `{name}` | {features} | {flash} | | |\n"));
        }
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
    validate::objects(printed, &network(file))?;
    validate::digits(printed)?;
    let size = std::fs::metadata(network(file))?.len();
    let [_, (_, _, read)] = printed.reads.as_slice() else {
        return Err("it does not say what it has read".into());
    };
    at_most("bytes read", *read, size * ceilings::READS / 100)
}
