//! Builds and runs all images, checks their output, and prints how much memory they take: `cargo run`. Exits with status 1 if a
//! check fails or an image cannot be built or run.

use std::path::PathBuf;
use std::process::ExitCode;

use zten::Archive;
use zten_embedded::host::image::{self, Image};
use zten_embedded::host::printed::Printed;
use zten_embedded::host::{Result, emulator, path, validate};

/// A function that checks the output of an image.
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

/// The largest number of bytes of flash memory for opening, listing and borrowing: the size of the image `list` less
/// that of the image `empty`.
const FLASH: u64 = 112 << 10;
/// The largest flash size in bytes of an image that reads zTensor files.
const IMAGE: u64 = 256 << 10;
/// The largest flash size in bytes of the image that reads safetensors and GGUF files.
const IMAGE_SAFETENSORS: u64 = 320 << 10;
/// The largest number of bytes of heap of every image without zstd.
const HEAP: u64 = 8 << 10;
/// The largest number of bytes of heap for each object of a file that is opened in place.
const HEAP_OBJECT: u64 = 160;
/// The largest number of bytes of heap of the images with zstd, in which one layer decodes to 6,144 bytes.
const HEAP_ZSTD: u64 = 31 << 10;
/// The largest number of bytes of stack of every image.
const STACK: u64 = 20 << 10;
/// The largest number of bytes that the image `spi` reads, in hundredths of the size of the file.
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
    let [empty, list, ..] = *flash else { return Err("fewer than two images were built".into()) };
    println!("opening, listing and borrowing take {} bytes of flash", list - empty);
    at_most("flash of opening, listing and borrowing", list - empty, FLASH)
}

/// Runs an image, and returns what it printed, if the check `validated` accepts its output.
fn outcome(image: &Image, validated: Validate) -> Result<Printed> {
    let text = emulator::run(&image.path)?;
    println!("{text}");
    let printed = Printed::read(&text)?;
    validated(&printed)?;
    Ok(printed)
}

/// Returns the row of an image in the table. An image that exceeds a limit is an error.
fn row(name: &str, features: &str, image: &Image, printed: &Printed) -> Result<String> {
    let flash = image.flash;
    let most = if features.contains("safetensors") { IMAGE_SAFETENSORS } else { IMAGE };
    at_most("flash", flash, most)?;
    let (heap, stack) = match (printed.heap, printed.stack) {
        (Some(heap), Some(stack)) => (heap, stack),
        // Images without the feature `messages` cannot print numbers.
        _ if !features.contains("messages") => {
            return Ok(format!("| `{name}` | {features} | {flash} | | |\n"));
        }
        _ => return Err("the firmware did not print how much memory it used".into()),
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
    Err(format!("{what}: {bytes} bytes exceed the maximum of {most} bytes").into())
}

/// Checks the output of the image `model`: the logits are those of NumPy, and the heap takes at most
/// [`HEAP_OBJECT`] bytes times the number of objects in `file`.
fn model(printed: &Printed, file: &str) -> Result<()> {
    validate::digits(printed)?;
    let file = std::fs::read(network(file))?;
    let objects = u64::try_from(Archive::from_bytes(&file)?.len())?;
    let heap = printed.heap.ok_or("the firmware did not print how much memory it used")?;
    at_most("heap for all objects", heap, HEAP_OBJECT * objects)
}

/// Checks the output of the image `spi`: it lists the objects of the file, the logits are those of NumPy, and the
/// flash memory is read hardly more than once.
fn spi(printed: &Printed, file: &str) -> Result<()> {
    validate::objects(printed, &network(file))?;
    validate::digits(printed)?;
    let size = std::fs::metadata(network(file))?.len();
    let [_, (_, _, read)] = printed.reads.as_slice() else {
        return Err("the firmware did not print exactly two lines about what it read".into());
    };
    at_most("bytes read", *read, size * READS / 100)
}
