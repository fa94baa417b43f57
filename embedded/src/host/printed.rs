//! Parses the output of an image: lines of words, the first of which is the kind of the line.

use std::str::FromStr;

use super::Result;

/// Everything that an image has printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// The class and the logits of each digit, in the order of the digits.
    pub digits: Vec<(usize, Vec<f32>)>,
    /// The name and the type of each object.
    pub objects: Vec<(String, String)>,
    /// The name of each rejected file, and the rule and the offset of its error.
    pub rejected: Vec<(String, String, u64)>,
    /// How often the flash memory was read while opening, and in all: the name of the phase, the number of reads, and
    /// the number of bytes.
    pub reads: Vec<(String, u64, u64)>,
    /// The largest number of bytes of heap that were in use at once.
    pub heap: Option<u64>,
    /// The largest number of bytes of stack that were in use.
    pub stack: Option<u64>,
}

impl Printed {
    /// Parses the output `text` of an image. A line of an unknown kind is an error, and so are digits out of order and words in
    /// place of numbers.
    pub fn read(text: &str) -> Result<Self> {
        let mut printed = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                ["digit", number, class, ref logits @ ..] => {
                    if number.parse::<usize>()? != printed.digits.len() {
                        return Err(format!(
                            "the firmware printed the digits out of order: {line:?}, expected digit {}",
                            printed.digits.len()
                        )
                        .into());
                    }
                    let logits: Result<_, _> =
                        logits.iter().map(|text| f32::from_str(text)).collect();
                    printed.digits.push((class.parse()?, logits?));
                }
                ["object", name, element] => printed.objects.push((name.into(), element.into())),
                ["invalid", file, rule, offset] => {
                    printed.rejected.push((file.into(), rule.into(), offset.parse()?));
                }
                ["reads", of, reads, "bytes", bytes] => {
                    printed.reads.push((of.into(), reads.parse()?, bytes.parse()?));
                }
                ["heap", bytes, "of", _] => printed.heap = Some(bytes.parse()?),
                ["stack", bytes] => printed.stack = Some(bytes.parse()?),
                _ => {
                    return Err(format!(
                        "the firmware printed a line of an unknown kind: {line:?}"
                    )
                    .into());
                }
            }
        }
        Ok(printed)
    }
}
