//! Split GGUF models: several files, `NAME-00001-of-00003.gguf` and so on, each with some of the tensors. The first file is the
//! root of the archive, and its metadata is the metadata of the model.

use alloc::string::String;
use alloc::vec::Vec;

use crate::archive::Archive;
use crate::cbor::{Attributes, Value};
use crate::file_name::FileName;
use crate::finding::counted;
use crate::formats::builder_error::{self, format_error};
use crate::formats::cbor;
use crate::formats::error::{FormatError, Subject, copied};
use crate::formats::error_of_part;
use crate::formats::root::{self, PartFile};
use crate::formats::rules::Rule;
use crate::index::{Builder, Parsed};
use crate::limits::{Limits, OpenOptions};
use crate::num::{u64_from_usize, usize_from_u32};
use crate::read_at::ReadAt;
use crate::rules::Limit;

use super::GGUF;

/// The metadata key for the number of a file in a split model, counted from 0.
const NUMBER: &str = "split.no";
/// The metadata key for the number of files of a split model.
const COUNT: &str = "split.count";
/// The metadata key for the number of tensors in all files of a split model together.
const TENSORS: &str = "split.tensors.count";

/// The number of digits of the two numbers in the name of a file of a split model, such as `00001-of-00003`.
const DIGITS: usize = 5;
/// The suffix of the names of all files of a split model.
const SUFFIX: &str = ".gguf";

/// The parsed name of the first file of a split model, such as `model-00001-of-00003.gguf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstName<'n> {
    /// The start of the names of all files of the model, before the numbers: `model` in the example.
    stem: &'n str,
    /// The number of files of the model, as the name gives it.
    count: u32,
}

impl<'n> FirstName<'n> {
    /// Parses `name` as that of the first file of a split GGUF model, such as `x-00001-of-00005.gguf`. Returns `None` for any other
    /// name.
    pub(crate) fn parse(name: &'n str) -> Option<Self> {
        let (stem, number, count) = parse(name)?;
        (number == 1 && count > 1).then_some(Self { stem, count })
    }

    /// Returns whether `name` is the name of a file of this model other than the first.
    pub(crate) fn is_of(self, name: &str) -> bool {
        parse(name).is_some_and(|(stem, number, count)| {
            (stem, count) == (self.stem, self.count) && (2..=count).contains(&number)
        })
    }
}

/// Splits the name of a file of a split model into the common stem, the number of the file from 1, and the number of files.
/// Returns `None` if `name` has another form. The two numbers are not compared.
fn parse(name: &str) -> Option<(&str, u32, u32)> {
    let rest = name.strip_suffix(SUFFIX)?;
    let (rest, count) = rest.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    Some((stem, digits(number)?, digits(count)?))
}

/// Parses `text` as a decimal number of exactly [`DIGITS`] digits; `None` for any other text.
fn digits(text: &str) -> Option<u32> {
    let is_number = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// A split model whose first file has been parsed.
#[derive(Debug)]
pub(crate) struct Split {
    /// The values of the `split.` keys in the metadata of the first file.
    numbers: Numbers,
    /// The names of all files but the first, in the order of their numbers.
    names: Vec<String>,
}

impl Split {
    /// Returns the split model whose first file is called `name` and has the given `metadata`. Returns `None` if the file is
    /// not split, is the only file of its model, or is not the first file.
    ///
    /// # Errors
    /// `gguf-split` if the numbers in the metadata contradict each other or the name, are no unsigned integers, or are
    /// incomplete; `limit-shards` if the model has more files besides the first than `limits` allows; out of memory.
    pub(crate) fn of(
        metadata: &Attributes<'_>,
        name: FileName<'_>,
        limits: &Limits,
    ) -> Result<Option<Self>, FormatError> {
        let Some(numbers) = Numbers::read(metadata)?.filter(Numbers::is_first) else {
            return Ok(None);
        };
        let count = numbers.count;
        let name = name.text_for_siblings().unwrap_or_default();
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

    /// Returns the names of all files but the first, in the order of their numbers.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Reads the headers of all files but the first, and returns the joined header of an archive. `first` is the first file,
    /// and `parts` are all other files in the order of their numbers.
    ///
    /// # Errors
    /// A file cannot be read, breaks a rule of its format, or has numbers in its metadata that contradict its name or the first
    /// file; `gguf-split` if the files do not have as many tensors as `split.tensors.count` says; `gguf-duplicate-name` if two
    /// files have a tensor of the same name; an exceeded limit.
    pub(crate) fn open(
        &self,
        first: &Archive<impl ReadAt>,
        parts: &[PartFile<'_>],
        options: &OpenOptions,
    ) -> Result<Parsed, FormatError> {
        let numbers = self.numbers;
        let header = first.manifest().extent();
        let mut builder =
            Builder::new(&GGUF, header, first.file_len(), options).map_err(format_error)?;
        if let Some(attributes) = cbor::copy(first.attributes())? {
            builder.attributes(&attributes).map_err(format_error)?;
        }
        builder.found_in_file(first.findings(), "");
        for tensor in first {
            root::push(&mut builder, &tensor, None)?;
        }
        let mut tensors = u64_from_usize(first.len());
        for (part, number) in parts.iter().zip(1..) {
            let ordinal = builder.file(part.name, part.length).map_err(format_error)?;
            let in_part = |error: FormatError| error.in_part(part.name);
            let opened = super::archive(part.source, part.length, options);
            let opened = opened.map_err(|error| error_of_part(part, options, error));
            let archive = opened.map_err(in_part)?;
            let part_numbers = Numbers::read(&archive.attributes());
            part_numbers.and_then(|found| numbers.check(found, number)).map_err(in_part)?;
            builder.found_in_file(archive.findings(), part.name);
            for tensor in &archive {
                root::push(&mut builder, &tensor, Some(ordinal)).map_err(in_part)?;
            }
            tensors = tensors.saturating_add(u64_from_usize(archive.len()));
        }
        if let Some(expected) = numbers.tensors
            && expected != tensors
        {
            let found = counted(tensors, "tensor");
            let sentence = format_args!("is {expected}, but the files have {found}");
            return Err(split_error(TENSORS, sentence));
        }
        builder_error::finish(builder, Rule::GgufDuplicateName)
    }
}

/// The values of the `split.` keys, which the metadata of each file of a split model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// The value of `split.no`: the number of the file in the model, counted from 0.
    number: u64,
    /// The value of `split.count`: the number of files of the model.
    count: u64,
    /// The value of `split.tensors.count`: the number of tensors in all files together; `None` if the key is missing.
    tensors: Option<u64>,
}

impl Numbers {
    /// Reads the values of the `split.` keys in `metadata`, the metadata of a file. Returns `None` if the file is not part of a
    /// split model, or was merged from the files of one.
    ///
    /// # Errors
    /// `gguf-split` if a value is not an unsigned integer, if only one of `split.no` and `split.count` is set, or if the number
    /// of the file is not below the number of files.
    fn read(metadata: &Attributes<'_>) -> Result<Option<Self>, FormatError> {
        // The method `get` of attributes is not used here, because its errors allocate memory.
        let read = |key| match metadata.item(key).map(|item| item.value()) {
            None => Ok(None),
            Some(Value::Uint(number)) => Ok(Some(number)),
            Some(_) => Err(split_error(key, "is not an unsigned integer")),
        };
        let (number, count, tensors) = (read(NUMBER)?, read(COUNT)?, read(TENSORS)?);
        match (number, count) {
            // A file that `gguf-split --merge` wrote keeps the number, and has the count 0.
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

    /// Returns whether the file is the first of two or more files.
    fn is_first(&self) -> bool {
        self.number == 0 && self.count > 1
    }

    /// Checks `found`, the numbers in the metadata of another file, against those of the first file. `number` is the number
    /// in the other file's name, counted from 0.
    fn check(self, found: Option<Self>, number: u64) -> Result<(), FormatError> {
        let pairs = [
            (NUMBER, found.map(|found| found.number), Some(number)),
            (COUNT, found.map(|found| found.count), Some(self.count)),
            (TENSORS, found.and_then(|found| found.tensors), self.tensors),
        ];
        let Some((key, found, expected)) =
            pairs.into_iter().find(|(_, found, expected)| found != expected)
        else {
            return Ok(());
        };
        Err(match (found, expected) {
            (Some(found), Some(expected)) => {
                split_error(key, format_args!("is {found}, expected {expected}"))
            }
            (Some(found), None) => {
                split_error(key, format_args!("is {found}, but the first file lacks the key"))
            }
            (None, expected) => {
                let expected = expected.unwrap_or_default();
                split_error(key, format_args!("is missing, expected {expected}"))
            }
        })
    }
}

/// Returns the error for the metadata key `key`, which is missing, has a value of another type, or has a value that contradicts
/// another key, another file or the name of the file. `sentence` begins with a verb, and its subject is the key.
fn split_error(key: &str, sentence: impl core::fmt::Display) -> FormatError {
    FormatError::violation(Rule::GgufSplit, sentence).with_subject(Subject::Key).about(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_first_file_predicts_the_other_names() {
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
