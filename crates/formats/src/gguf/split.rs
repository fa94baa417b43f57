//! GGUF in several files, `NAME-00001-of-00003.gguf` and so on: the first is the root, whose metadata is that of all, and
//! each holds some of the tensors.

use std::path::Path;

use zten::attributes::{Attributes, Value};
use zten::front::{Builder, Parsed};
use zten::num::{u64_from_usize, usize_from_u32};
use zten::rules::Limit;
use zten::{Archive, Error, Limits, OpenOptions, ReadAt};

use super::GGUF;
use crate::cbor;
use crate::error::{FormatError, Subject, copied};
use crate::front;
use crate::root::{self, Part};
use crate::rules::Rule;

/// Keys of the metadata, which each of the files has.
const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// Digits of the number of a file, and of their count.
const DIGITS: usize = 5;
/// The end of each name.
const SUFFIX: &str = ".gguf";

/// The name of the first of several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstName<'n> {
    /// The part of the name that all have.
    stem: &'n str,
    count: u32,
}

impl<'n> FirstName<'n> {
    /// Parses the name of a file; none if it is not of this form.
    pub(crate) fn parse(name: &'n str) -> Option<Self> {
        let (stem, number, count) = parse(name)?;
        (number == 1 && count > 1).then_some(Self { stem, count })
    }

    /// Returns whether a file of that name is one of the others.
    pub(crate) fn is_of(self, name: &str) -> bool {
        parse(name).is_some_and(|(stem, number, count)| {
            (stem, count) == (self.stem, self.count) && (2..=count).contains(&number)
        })
    }
}

/// The part of the name of one of several files that all have, the number, and the count of them.
fn parse(name: &str) -> Option<(&str, u32, u32)> {
    let rest = name.strip_suffix(SUFFIX)?;
    let (rest, count) = rest.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    Some((stem, digits(number)?, digits(count)?))
}

fn digits(text: &str) -> Option<u32> {
    let is_number = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// The first of several files, whose header has been parsed.
#[derive(Debug)]
pub(crate) struct Split {
    numbers: Numbers,
    /// The names of the others, in their order.
    names: Vec<String>,
}

impl Split {
    /// Returns what a file says of the others, whose metadata that is; none if there are none, or it is not the first.
    ///
    /// # Errors
    /// `gguf-split` if the numbers in the metadata contradict each other or the name; more files than `limit-shards`.
    pub(crate) fn of(
        metadata: &Attributes<'_>,
        path: &Path,
        limits: &Limits,
    ) -> Result<Option<Self>, FormatError> {
        let Some(numbers) = Numbers::read(metadata)?.filter(Numbers::is_first) else {
            return Ok(None);
        };
        let count = numbers.count;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let first = FirstName::parse(name).filter(|first| u64::from(first.count) == count);
        let Some(FirstName { stem, count }) = first else {
            let sentence = format_args!(
                "is {count}, but the name of the first file does not end in -00001-of-{count:05}{SUFFIX}"
            );
            return Err(split_error(COUNT, sentence));
        };
        let most = limits.shards();
        if count.saturating_sub(1) > most {
            let sentence = format_args!("is {count}, more than {most} other files");
            let error = FormatError::violation(Limit::Shards, sentence);
            return Err(error.with_subject(Subject::Key).about(COUNT));
        }
        let mut names = Vec::new();
        names.try_reserve_exact(usize_from_u32(count)).map_err(|_| FormatError::memory())?;
        for number in 2..=count {
            names.push(copied(format_args!("{stem}-{number:05}-of-{count:05}{SUFFIX}"))?);
        }
        Ok(Some(Self { numbers, names }))
    }

    /// The names of the other files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Reads the headers of the other files, which come in the order of their numbers, and fills the index of an archive whose
    /// first file is that one.
    ///
    /// # Errors
    /// A file cannot be read, breaks a rule of its format, or is another one than its name says.
    pub(crate) fn open(
        &self,
        first: &Archive<impl ReadAt>,
        parts: &[Part<'_>],
        options: &OpenOptions,
    ) -> Result<Parsed, FormatError> {
        let numbers = self.numbers;
        let format_error = |error: Error| {
            front::format_error(error, Rule::GgufDuplicateName, |ordinal| {
                Err(duplicate_key(first, parts, ordinal, options))
            })
        };
        let header = first.manifest().extent();
        let mut builder =
            Builder::new(&GGUF, header, first.file_len(), options).map_err(format_error)?;
        if let Some(attributes) = cbor::copy(first.attributes())? {
            builder.attributes(&attributes).map_err(format_error)?;
        }
        builder.found_in_file(first.findings(), "");
        for tensor in first {
            root::push(&mut builder, &tensor, None, format_error)?;
        }
        let mut tensors = u64_from_usize(first.len());
        for (part, number) in parts.iter().zip(1..) {
            let ordinal = builder.file(part.name, part.length).map_err(format_error)?;
            let in_part = |error: FormatError| error.in_part(part.name);
            let archive = super::archive(part.source, part.length, options).map_err(in_part)?;
            let found = Numbers::read(&archive.attributes());
            found.and_then(|found| numbers.check(found, number)).map_err(in_part)?;
            builder.found_in_file(archive.findings(), part.name);
            for tensor in &archive {
                root::push(&mut builder, &tensor, Some(ordinal), format_error).map_err(in_part)?;
            }
            tensors = tensors.saturating_add(u64_from_usize(archive.len()));
        }
        if let Some(counted) = numbers.tensors
            && counted != tensors
        {
            let sentence = format_args!("is {counted}, but the files have {tensors} tensors");
            return Err(split_error(TENSORS, sentence));
        }
        builder.finish().map_err(format_error)
    }
}

/// The numbers that each of several files has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// The number of the file, from 0 on.
    number: u64,
    /// The number of files.
    count: u64,
    /// The number of tensors in all of them.
    tensors: Option<u64>,
}

impl Numbers {
    /// Reads the numbers in the metadata of a file; none if it has none.
    fn read(metadata: &Attributes<'_>) -> Result<Option<Self>, FormatError> {
        // Not `get`, whose errors take memory.
        let read = |key| match metadata.item(key).map(|item| item.value()) {
            None => Ok(None),
            Some(Value::Uint(number)) => Ok(Some(number)),
            Some(_) => Err(split_error(key, "is not an unsigned integer")),
        };
        let (number, count, tensors) = (read(NUMBER)?, read(COUNT)?, read(TENSORS)?);
        match (number, count) {
            // Files that were merged keep the number, and have no count.
            (None, None) | (Some(_), Some(0)) => Ok(None),
            (Some(number), Some(count)) if number < count => {
                Ok(Some(Self { number, count, tensors }))
            }
            (Some(number), Some(count)) => {
                let sentence = format_args!("is {number}, expected a number below {count}");
                Err(split_error(NUMBER, sentence))
            }
            (None, Some(_)) => Err(split_error(COUNT, format_args!("is set without {NUMBER}"))),
            (Some(_), None) => Err(split_error(NUMBER, format_args!("is set without {COUNT}"))),
        }
    }

    fn is_first(&self) -> bool {
        self.number == 0 && self.count > 1
    }

    /// Checks the numbers of the file that is the one of that number.
    fn check(self, found: Option<Self>, number: u64) -> Result<(), FormatError> {
        let pairs = [
            (NUMBER, found.map(|found| found.number), Some(number)),
            (COUNT, found.map(|found| found.count), Some(self.count)),
            (TENSORS, found.and_then(|found| found.tensors), self.tensors),
        ];
        let Some((key, found, wanted)) =
            pairs.into_iter().find(|(_, found, wanted)| found != wanted)
        else {
            return Ok(());
        };
        Err(match (found, wanted) {
            (Some(found), Some(wanted)) => {
                split_error(key, format_args!("is {found}, expected {wanted}"))
            }
            (Some(found), None) => {
                split_error(key, format_args!("is {found}, but the first file has none"))
            }
            (None, wanted) => {
                let wanted = wanted.unwrap_or_default();
                split_error(key, format_args!("is missing, expected {wanted}"))
            }
        })
    }
}

/// The error for a key of the metadata that contradicts others, or the name of the file.
fn split_error(key: &str, sentence: impl std::fmt::Display) -> FormatError {
    FormatError::violation(Rule::GgufSplit, sentence).with_subject(Subject::Key).about(key)
}

/// The error for the tensor of that ordinal, whose name another one has.
#[cold]
fn duplicate_key(
    first: &Archive<impl ReadAt>,
    parts: &[Part<'_>],
    ordinal: u32,
    options: &OpenOptions,
) -> FormatError {
    let rule = Rule::GgufDuplicateName;
    let of = |name: &str| FormatError::violation(rule, rule.row().broken).about(name);
    let ordinal = usize_from_u32(ordinal);
    if let Some(tensor) = first.tensors().nth(ordinal) {
        return of(tensor.name());
    }
    let mut left = ordinal.saturating_sub(first.len());
    for part in parts {
        match super::archive(part.source, part.length, options) {
            Ok(archive) => match archive.tensors().nth(left) {
                Some(tensor) => return of(tensor.name()).in_part(part.name),
                None => left = left.saturating_sub(archive.len()),
            },
            Err(error) => return error.in_part(part.name),
        }
    }
    FormatError::internal("a tensor is in none of the files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_files() {
        let first = FirstName::parse("a-b-00001-of-00003.gguf").unwrap();
        assert_eq!(first, FirstName { stem: "a-b", count: 3 });
        for (name, is_of) in [
            ("a-b-00002-of-00003.gguf", true),
            ("a-b-00003-of-00003.gguf", true),
            ("a-b-00001-of-00003.gguf", false),
            ("a-b-00004-of-00003.gguf", false),
            ("a-b-00002-of-00004.gguf", false),
            ("b-00002-of-00003.gguf", false),
            ("a-b-0002-of-00003.gguf", false),
            ("a-b-+0002-of-00003.gguf", false),
        ] {
            assert_eq!(first.is_of(name), is_of, "{name}");
        }
        for name in [
            "a-00002-of-00003.gguf",
            "a-00001-of-00001.gguf",
            "a-00001-of-00000.gguf",
            "a-00001-of-00003.safetensors",
            "00001-of-00003.gguf",
            "a-1-of-3.gguf",
            "",
        ] {
            assert_eq!(FirstName::parse(name), None, "{name}");
        }
    }
}
