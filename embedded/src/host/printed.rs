//! The output of an image: lines of words, of which the first says what the others are.

use std::str::FromStr;

use super::Result;

/// All that images print.
#[derive(Debug, Default)]
pub struct Printed {
    /// Class and logits of each digit, in order.
    pub digits: Vec<(usize, Vec<f32>)>,
    /// Name and type of each object.
    pub objects: Vec<(String, String)>,
    /// Name, rule and offset of each file that was rejected.
    pub rejected: Vec<(String, String, u64)>,
    /// The reads of the flash while opening, and in all: the name, the number of reads, and the bytes read.
    pub reads: Vec<(String, u64, u64)>,
    /// The most bytes of heap in use at once.
    pub heap: Option<u64>,
    /// The most bytes of stack.
    pub stack: Option<u64>,
}

impl Printed {
    /// Reads it. A line of another kind is an error.
    pub fn read(text: &str) -> Result<Self> {
        let mut printed = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                ["digit", number, class, ref logits @ ..] => {
                    if number.parse::<usize>()? != printed.digits.len() {
                        return Err(format!("another digit comes first: {line}").into());
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
                _ => return Err(format!("it prints {line:?}").into()),
            }
        }
        Ok(printed)
    }
}
