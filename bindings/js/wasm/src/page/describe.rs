//! Describes the file and its objects from the manifest. All text of the file is escaped, so that the page can show it.

use std::io::{self, Write};

use serde::Serialize;
use zten::attributes::Attributes;
use zten::conventions::QuantizedForm;
use zten::escape::{Escaped, escape_all};
use zten::finding::{Finding, Verdict};
use zten::json::{List, Text, to_shown, to_writer};
use zten::rules::Row;
use zten::{Generation, State, Tensor};
use zten_report::archive::{DescribedObject, left_out_names};
use zten_report::diagnostic;
use zten_report::notation::version;
use zten_report::totals::FileTotals;

use crate::session::{self, File};

/// The largest number of bytes of an attribute's value that are shown. Longer values are cut.
const VALUE: usize = 4096;

/// The largest number of names that are listed of values of a file that zten left out.
const NAMES: usize = 200;

/// A note on the file: a known loader may fail to read it, or values are left out.
#[derive(Serialize)]
pub(super) struct Noted {
    rule: Option<&'static str>,
    sentence: String,
    object: Option<String>,
    shard: Option<String>,
    offset: Option<u64>,
    /// The number of other places in the file that have the same note, in addition to the place that this note gives.
    more: u64,
    advice: Option<&'static str>,
}

impl From<Finding> for Noted {
    fn from(note: Finding) -> Self {
        let advice = note.advice();
        Self {
            rule: note.row.map(Row::id),
            sentence: note.sentence,
            object: note.object.filter(|_| !note.is_named).as_deref().map(escape_all),
            shard: note.shard.as_deref().map(escape_all),
            offset: note.offset,
            more: note.others,
            advice,
        }
    }
}

/// Writes the description of `file` to `out`: its format, the range of its manifest, its totals, the notes on it, and its
/// attributes.
pub fn file(file: &File, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Summary<'a> {
        verdict: &'a str,
        format: &'a str,
        generation: Option<&'a str>,
        version: Option<String>,
        manifest_start: u64,
        manifest_end: u64,
        totals: FileTotals,
        notes: Vec<Noted>,
        /// The names of the first [`NAMES`] values that zten left out, and the number of all values that it left out.
        left_out: (Vec<&'a str>, usize),
        attributes: Vec<(Text<Escaped<'a>>, String)>,
    }
    let manifest = file.manifest();
    let (_, notes) = Finding::split(Finding::of_open(manifest));
    let names = left_out_names(manifest);
    let summary = Summary {
        verdict: Verdict::ManifestValid.as_str(),
        format: manifest.file_format(),
        generation: manifest.generation().map(Generation::as_str),
        version: version(manifest),
        manifest_start: manifest.extent().start,
        manifest_end: manifest.extent().end,
        totals: FileTotals::of(file.tensors()),
        notes: notes.into_iter().map(Noted::from).collect(),
        left_out: (names.iter().take(NAMES).map(String::as_str).collect(), names.len()),
        attributes: notations(manifest.attributes()),
    };
    to_writer(out, &summary)
}

/// Writes `bytes`, a name that the page passes, such as the name of the file, to `out` as a JSON text in which control and
/// invisible characters are escaped.
pub fn name(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    to_shown(out, &String::from_utf8_lossy(bytes))
}

/// Lists up to `count` objects of `file`, from object `first` on, as pairs: the description of the object, and the name of its
/// quantized form as listings show it, such as `MXFP4 [32]`; null for an object that is not joined from several tensors.
pub fn list(file: &File, first: u32, count: u32, out: &mut impl Write) -> io::Result<()> {
    to_shown(out, &List(|| session::tensors(file, first, count).map(described)))
}

/// Returns the pair that [`list`] writes for `object`.
fn described(object: Tensor<'_>) -> (DescribedObject<'_, false>, Option<String>) {
    let form = QuantizedForm::of(&object).map(|form| form.to_string());
    (DescribedObject(object), form)
}

/// Writes a list of three items about object `ordinal` to `out`: its description; its attributes in diagnostic notation; and, if
/// zten does not read the object, the reason and the advice of the rule that says so, otherwise null. Writes null if the file has
/// no such object.
pub fn object(file: &File, ordinal: u32, out: &mut impl Write) -> io::Result<()> {
    let Ok(tensor) = session::tensor(file, ordinal) else { return to_writer(out, &()) };
    out.write_all(b"[")?;
    to_shown(out, &DescribedObject::<false>(tensor))?;
    out.write_all(b",")?;
    to_writer(out, &notations(tensor.attributes()))?;
    out.write_all(b",")?;
    let rule = match tensor.state() {
        State::Unread(kind) => kind.row(),
        _ => None,
    };
    to_writer(out, &rule.map(|rule| (rule.broken(), rule.advice())))?;
    out.write_all(b"]")
}

/// Returns `attributes` as pairs: the key, and the value in the diagnostic notation of CBOR, of which at most [`VALUE`] bytes are
/// kept.
fn notations(attributes: Attributes<'_>) -> Vec<(Text<Escaped<'_>>, String)> {
    attributes.map(|(key, item)| (Text(Escaped(key)), diagnostic::cut(&item, VALUE))).collect()
}
