//! Builds all images, runs them, and says what they take: `cargo run`. Ends 1 if anything is not as
//! it should be.

use std::path::PathBuf;
use std::process::ExitCode;

use zten::Archive;
use zten_embedded::host::image::{self, Image};
use zten_embedded::host::printed::Printed;
use zten_embedded::host::{Result, emulator, path, validate};

/// A check of the output of an image.
type Validate = fn(&Printed) -> Result<()>;

/// Each image, its features, and the check of its output.
const IMAGES: [(&str, &str, Validate); 9] = [
    ("empty", "", |_| Ok(())),
    ("list", "", |printed| validate::objects(printed, &network("digits.zt"))),
    ("model", "digest,messages", |printed| model(printed, "digits.zt")),
    ("model", "digest,messages,generation-2", |printed| model(printed, "digits-2.zt")),
    ("model", "digest,messages,zstd", validate::digits),
    ("model", "messages,safetensors", validate::digits),
    ("spi", "digest,messages", |printed| spi(printed, "digits.zt")),
    ("spi", "digest,messages,zstd", |printed| spi(printed, "digits-zstd.zt")),
    ("hostile", "messages", validate::rejected),
];

/// Bytes of flash of opening, listing and binding: the image `list` less the image `empty`.
const FLASH: u64 = 112 << 10;
/// The largest flash size in bytes of an image that reads zTensor files.
const IMAGE: u64 = 256 << 10;
/// The largest flash size in bytes of the image that reads safetensors and GGUF files.
const IMAGE_SAFETENSORS: u64 = 320 << 10;
/// Bytes of heap of every image without zstd.
const HEAP: u64 = 8 << 10;
/// Bytes of heap for each object of a file that is opened in place.
const HEAP_OBJECT: u64 = 160;
/// Bytes of heap of the images with zstd, in which one layer decodes to 6,144 bytes.
const HEAP_ZSTD: u64 = 31 << 10;
/// Bytes of stack of every image.
const STACK: u64 = 20 << 10;
/// Times that the image `spi` reads each byte of the file, in hundredths.
const READS: u64 = 105;

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
    zten_embedded::host::network::check()?;
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
    let [empty, list, ..] = *flash else { return Err("no images".into()) };
    println!("opening, listing and binding: {} bytes of flash", list - empty);
    at_most("flash of opening, listing and binding", list - empty, FLASH)
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
    let most = if features.contains("safetensors") { IMAGE_SAFETENSORS } else { IMAGE };
    at_most("flash", flash, most)?;
    let (heap, stack) = match (printed.heap, printed.stack) {
        (Some(heap), Some(stack)) => (heap, stack),
        // They cannot print numbers.
        _ if !features.contains("messages") => {
            return Ok(format!("| `{name}` | {features} | {flash} | | |\n"));
        }
        _ => return Err("it does not say what it has taken".into()),
    };
    let most = if features.contains("zstd") { HEAP_ZSTD } else { HEAP };
    at_most("heap", heap, most)?;
    at_most("stack", stack, STACK)?;
    Ok(format!("| `{name}` | {features} | {flash} | {heap} | {stack} |\n"))
}

fn at_most(what: &str, bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(format!("{what}: {bytes} bytes, and at most {most} are allowed").into())
}

/// The model in place: says what NumPy does, and takes little for each object.
fn model(printed: &Printed, file: &str) -> Result<()> {
    validate::digits(printed)?;
    let file = std::fs::read(network(file))?;
    let objects = u64::try_from(Archive::from_bytes(&file)?.len())?;
    let heap = printed.heap.ok_or("it does not say what it has taken")?;
    at_most("heap for all objects", heap, HEAP_OBJECT * objects)
}

/// The model behind a bus: lists the same, says the same, and hardly reads a byte twice.
fn spi(printed: &Printed, file: &str) -> Result<()> {
    validate::objects(printed, &network(file))?;
    validate::digits(printed)?;
    let size = std::fs::metadata(network(file))?.len();
    let [_, (_, _, read)] = printed.reads.as_slice() else {
        return Err("it does not say what it has read".into());
    };
    at_most("bytes read", *read, size * READS / 100)
}
